import * as z from "zod";
import { Cursor, Id, page, Timestamp } from "./common.ts";
import {
  MemoryTier,
  MemoryTarget,
  MemoryKind,
  Namespace,
  Provenance,
  Tags,
  Confidence,
  MemoryItem,
  EditOp,
  MemoryDiff,
  QuarantineEntry,
  MemoryCommit,
  CoreBlock,
  CompiledContext,
  MemoryJobName,
  MemoryJob,
  SearchHit,
} from "./memory.ts";
import { method } from "./method.ts";

const Reason = z.string().min(1).max(2000);

const EditParams = z.object({
  /** Without it the edit is a commit of its own, finished at once. */
  commitId: Id.optional(),
  op: EditOp,
  target: MemoryTarget,
  /** Which item, for all but insert: its id, its whole text, or a part of its text that no other item of the target has. */
  selector: z.string().min(1).max(4000).optional(),
  /** The text, for all but delete. */
  content: z.string().max(20_000).optional(),
  reason: Reason,
  confidence: Confidence.default(0.7),
  provenance: Provenance,
  namespace: Namespace.optional(),
  tags: Tags.optional(),
  kind: MemoryKind.optional(),
  /** Working memory alone; a day unless said. */
  ttlSeconds: z.int().min(60).max(2_592_000).optional(),
});

const RolledBack = z.object({
  /** The commit that took it back; null when the commit was still open and was only dropped. */
  commitId: Id.nullable(),
  rolledBack: z.array(Id),
  diff: z.array(MemoryDiff),
});

const Tiers = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), z.array(MemoryTier).min(1).max(4));
const TagList = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), Tags);

export const memoryMethods = {
  "memory.status": method({
    summary: "How much is remembered, how full the core blocks are, what waits in quarantine.",
    access: "any",
    params: z.object({}),
    result: z.object({
      tiers: z.object({ core: z.int(), working: z.int(), episodic: z.int(), archival: z.int() }),
      blocks: z.array(CoreBlock.pick({ block: true, tokens: true, cap: true, version: true, updatedAt: true })),
      quarantined: z.int(),
      openCommits: z.int(),
      lastCommitAt: Timestamp.nullable(),
      /** What is wrong, for the owner; null when all is well. */
      problem: z.string().nullable(),
    }),
    route: { method: "GET", path: "/memory/status" },
  }),
  "memory.core": method({
    summary: "The core blocks in the order they are compiled.",
    access: "any",
    params: z.object({}),
    result: z.object({ blocks: z.array(CoreBlock) }),
    route: { method: "GET", path: "/memory/core" },
  }),
  "memory.search": method({
    summary: "What is remembered, best match first; without a query the newest first.",
    access: "any",
    params: z.object({
      query: z.string().max(2000).default(""),
      tiers: Tiers.optional(),
      namespace: Namespace.optional(),
      tags: TagList.optional(),
      minConfidence: Confidence.optional(),
      limit: z.int().min(1).max(200).default(10),
      cursor: Cursor.optional(),
    }),
    result: page(SearchHit),
    route: { method: "GET", path: "/memory/search" },
  }),
  "memory.item": method({
    summary: "One item with its versions: who changed what, when and why.",
    access: "any",
    params: z.object({ id: Id }),
    result: z.object({
      item: MemoryItem.nullable(),
      history: z.array(z.object({ commit: MemoryCommit, diff: MemoryDiff })),
    }),
  }),
  "memory.begin": method({
    summary: "Begins a commit. Nothing changes before it is finished.",
    access: "any",
    params: z.object({ questId: Id.optional(), reason: z.string().max(2000).default("") }),
    result: z.object({ commitId: Id }),
    route: { method: "POST", path: "/memory/commit/begin" },
  }),
  "memory.edit": method({
    summary: "Adds one edit to an open commit. It passes the gates now; what is kept of it is what they let through.",
    access: "any",
    params: EditParams,
    result: z.object({
      commitId: Id,
      /** The edit as it stands in the commit, from 0; null when it waits in quarantine instead. */
      index: z.int().nullable(),
      outcome: z.enum(["staged", "quarantined", "reinforced"]),
      target: MemoryTarget,
      content: z.string().nullable(),
      /** What the gates changed, in words. */
      notes: z.array(z.string()),
      quarantineId: Id.nullable(),
      /** True when the edit was a commit of its own. `diff` is what it changed then. */
      finished: z.boolean(),
      diff: z.array(MemoryDiff),
    }),
    route: { method: "POST", path: "/memory/edit" },
  }),
  "memory.finish": method({
    summary: "Applies a commit, all of it or nothing.",
    access: "any",
    params: z.object({ commitId: Id }),
    result: z.object({ commitId: Id, diff: z.array(MemoryDiff), quarantined: z.array(QuarantineEntry), receiptId: Id.nullable() }),
    route: { method: "POST", path: "/memory/commit/{commitId}/finish" },
  }),
  "memory.abandon": method({
    summary: "Drops a commit that was not finished.",
    access: "any",
    params: z.object({ commitId: Id }),
    result: z.object({ ok: z.literal(true) }),
  }),
  "memory.rollback": method({
    summary: "Takes back one commit, single items of it, or the last N, exactly, and keeps later ones that have nothing to do with it.",
    access: "owner",
    params: z.union([
      z.object({ commitId: Id, itemIds: z.array(Id).min(1).max(1000).optional(), reason: Reason }),
      z.object({ last: z.int().min(1).max(50), reason: Reason }),
    ]),
    result: RolledBack,
    route: { method: "POST", path: "/memory/rollback/{commitId}" },
  }),
  "memory.commits": method({
    summary: "Commits, newest first, with what they changed.",
    access: "any",
    params: z.object({ questId: Id.optional(), limit: z.int().min(1).max(200).default(50), cursor: Cursor.optional() }),
    result: page(MemoryCommit),
  }),
  "memory.compile": method({
    summary: "Compiles what memory gives to a prompt with this objective. The same memory and the same words give the same text.",
    access: "any",
    params: z.object({
      objective: z.string().max(20_000),
      questId: Id.optional(),
      mode: z.enum(["normal", "crusader"]).default("normal"),
      maxTokens: z.int().min(100).max(100_000).optional(),
    }),
    result: CompiledContext,
    route: { method: "POST", path: "/memory/compile" },
  }),
  "memory.contexts": method({
    summary: "The last compiled contexts, newest first, without their text.",
    access: "any",
    params: z.object({ questId: Id.optional(), limit: z.int().min(1).max(50).default(50) }),
    result: z.object({ items: z.array(CompiledContext.omit({ renderedPrompt: true })) }),
  }),
  "memory.context": method({
    summary: "One compiled context with its text.",
    access: "any",
    params: z.object({ id: Id }),
    result: CompiledContext,
  }),
  "memory.quarantine": method({
    summary: "Edits that wait for the owner, newest first.",
    access: "any",
    params: z.object({ status: QuarantineEntry.shape.status.default("pending"), limit: z.int().min(1).max(200).default(50) }),
    result: z.object({ items: z.array(QuarantineEntry) }),
    route: { method: "GET", path: "/memory/quarantine" },
  }),
  "memory.promote": method({
    summary: "Lets a quarantined edit in, when the checks find nothing against it now.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().max(2000).optional() }),
    result: z.object({ entry: QuarantineEntry, commitId: Id, diff: z.array(MemoryDiff) }),
    route: { method: "POST", path: "/memory/promote/{id}" },
    alias: { method: "POST", path: "/memory/quarantine/{id}/approve" },
  }),
  "memory.deny": method({
    summary: "Turns a quarantined edit away.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().max(2000).optional() }),
    result: z.object({ entry: QuarantineEntry }),
  }),
  "memory.setAside": method({
    summary: "Takes an item out of use and into quarantine, until the owner decides on it.",
    access: "owner",
    params: z.object({ id: Id, reason: Reason }),
    result: z.object({ commitId: Id, entry: QuarantineEntry }),
  }),
  "memory.remember": method({
    summary: "Remembers the owner's own words, in the block or tier they belong to unless one is named.",
    access: "owner",
    params: z.object({
      text: z.string().min(1).max(4000),
      target: MemoryTarget.optional(),
      namespace: Namespace.optional(),
      tags: Tags.optional(),
      questId: Id.optional(),
    }),
    result: z.object({ commitId: Id, item: MemoryItem, notes: z.array(z.string()) }),
  }),
  "memory.forget": method({
    summary: "Forgets the item that is named, or the one that clearly matches the words; else says which might be meant.",
    access: "owner",
    params: z.union([
      z.object({ id: Id, questId: Id.optional() }),
      z.object({ text: z.string().min(1).max(2000), questId: Id.optional() }),
    ]),
    result: z.object({ commitId: Id.nullable(), forgotten: MemoryItem.nullable(), candidates: z.array(MemoryItem) }),
  }),
  "memory.export": method({
    summary:
      "Writes what is remembered here to a file below `exports/` of the data folder. `backup` holds everything, for `memory.import`.",
    access: "owner",
    params: z.object({ format: z.enum(["markdown", "jsonl", "backup"]).default("jsonl") }),
    result: z.object({ file: z.string(), items: z.int(), bytes: z.int(), sha256: z.string() }),
  }),
  "memory.import": method({
    summary:
      "Reads an exported file. Every line passes the gates; `replace` first takes away what is here, as one commit that can be rolled back.",
    access: "owner",
    params: z.object({
      /** Absolute, or a name below `exports/` of the data folder. */
      path: z.string().min(1).max(4096),
      mode: z.enum(["merge", "replace"]).default("merge"),
      dryRun: z.boolean().default(false),
    }),
    result: z.object({
      commitId: Id.nullable(),
      added: z.int(),
      updated: z.int(),
      unchanged: z.int(),
      removed: z.int(),
      refused: z.array(z.object({ line: z.int(), reason: z.string() })),
    }),
  }),
  "memory.jobs": method({
    summary: "The maintenance jobs, when they last ran and what came of it.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(MemoryJob) }),
  }),
  "memory.runJob": method({
    summary: "Runs one maintenance job now.",
    access: "owner",
    /** `memory_cleanup` is another name of `memory_compact_working`. */
    params: z.object({
      name: z.preprocess((name) => (name === "memory_cleanup" ? "memory_compact_working" : name), MemoryJobName),
    }),
    result: MemoryJob,
  }),
};
