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
  /** `update` is another name of `replace`. */
  op: z.enum([...EditOp.options, "update"]).transform((op): EditOp => (op === "update" ? "replace" : op)),
  target: MemoryTarget,
  /** Which item, for all but insert: its id, its whole text, or a part of its text that no other item of the target has. */
  selector: z.string().min(1).max(4000).optional(),
  /** The text, for all but delete. */
  content: z.string().max(20_000).optional(),
  reason: Reason,
  confidence: Confidence.default(0.7),
  /** On a core block, anything but `user` is quarantined, whoever calls. */
  provenance: Provenance,
  namespace: Namespace.optional(),
  tags: Tags.optional(),
  kind: MemoryKind.optional(),
  /** Working memory alone; a day unless said. */
  ttlSeconds: z.int().min(60).max(2_592_000).optional(),
});

const RolledBack = z.object({
  /** The rollback commit; null when the commit was still open and was only abandoned. */
  commitId: Id.nullable(),
  rolledBack: z.array(Id),
  diff: z.array(MemoryDiff),
});

const Tiers = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), z.array(MemoryTier).min(1).max(4));
const TagList = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), Tags);

export const memoryMethods = {
  "memory.status": method({
    summary: "Item counts, the fill level of the core blocks, and pending edits.",
    access: "any",
    params: z.object({}),
    result: z.object({
      tiers: z.object({ core: z.int(), working: z.int(), episodic: z.int(), archival: z.int() }),
      blocks: z.array(CoreBlock.pick({ block: true, tokens: true, cap: true, version: true, updatedAt: true })),
      quarantined: z.int(),
      openCommits: z.int(),
      lastCommitAt: Timestamp.nullable(),
      /** The current problem, as a message for the user; null without one. */
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
    summary: "Searches memory, best match first; without a query the newest items first.",
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
    summary: "Adds one edit to an open commit. The gates check and may change it before it is stored.",
    access: "any",
    params: EditParams,
    result: z.object({
      commitId: Id,
      /** The edit as it stands in the commit, from 0; null when it is quarantined instead. */
      index: z.int().nullable(),
      outcome: z.enum(["staged", "quarantined", "reinforced"]),
      target: MemoryTarget,
      content: z.string().nullable(),
      /** Changes by the gates, as messages. */
      notes: z.array(z.string()),
      quarantineId: Id.nullable(),
      /** True when the edit was a commit of its own, with its changes in `diff`. */
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
    summary: "Abandons an open commit.",
    access: "any",
    params: z.object({ commitId: Id }),
    result: z.object({ ok: z.literal(true) }),
  }),
  "memory.rollback": method({
    summary: "Rolls back one commit, single items of it, or the last N, exactly. Unrelated later commits stay.",
    access: "owner",
    params: z.union([
      z.object({ commitId: Id, itemIds: z.array(Id).min(1).max(1000).optional(), reason: Reason }),
      z.object({ last: z.int().min(1).max(50), reason: Reason }),
    ]),
    result: RolledBack,
    route: { method: "POST", path: "/memory/rollback/{commitId}" },
  }),
  "memory.commits": method({
    summary: "Commits with their changes, newest first.",
    access: "any",
    params: z.object({ questId: Id.optional(), limit: z.int().min(1).max(200).default(50), cursor: Cursor.optional() }),
    result: page(MemoryCommit),
  }),
  "memory.compile": method({
    summary: "Compiles the memory part of a prompt for this objective. The result is deterministic.",
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
    summary: "Quarantined edits, newest first.",
    access: "any",
    params: z.object({ status: QuarantineEntry.shape.status.default("pending"), limit: z.int().min(1).max(200).default(50) }),
    result: z.object({ items: z.array(QuarantineEntry) }),
    route: { method: "GET", path: "/memory/quarantine" },
  }),
  "memory.promote": method({
    summary: "Approves a quarantined edit if it passes the checks now.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().max(2000).optional() }),
    result: z.object({ entry: QuarantineEntry, commitId: Id, diff: z.array(MemoryDiff) }),
    route: { method: "POST", path: "/memory/promote/{id}" },
    alias: { method: "POST", path: "/memory/quarantine/{id}/approve" },
  }),
  "memory.deny": method({
    summary: "Rejects a quarantined edit.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().max(2000).optional() }),
    result: z.object({ entry: QuarantineEntry }),
  }),
  "memory.setAside": method({
    summary: "Quarantines an item until the owner decides.",
    access: "owner",
    params: z.object({ id: Id, reason: Reason }),
    result: z.object({ commitId: Id, entry: QuarantineEntry }),
  }),
  "memory.remember": method({
    summary: "Saves the owner's own words, in the given block or tier or the one they belong to.",
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
    summary: "Deletes the item with this id, or the one that clearly matches the text; otherwise returns the candidates.",
    access: "owner",
    params: z.union([
      z.object({ id: Id, questId: Id.optional() }),
      z.object({ text: z.string().min(1).max(2000), questId: Id.optional() }),
    ]),
    result: z.object({ commitId: Id.nullable(), forgotten: MemoryItem.nullable(), candidates: z.array(MemoryItem) }),
  }),
  "memory.export": method({
    summary:
      "Writes the memory of this workspace to a file below `exports/` of the data folder. `backup` holds everything, for `memory.import`.",
    access: "owner",
    params: z.object({ format: z.enum(["markdown", "jsonl", "backup"]).default("jsonl") }),
    result: z.object({ file: z.string(), items: z.int(), bytes: z.int(), sha256: z.string() }),
  }),
  "memory.import": method({
    summary:
      "Reads an exported file. Every line passes the gates; `replace` also deletes all other items, in the same commit, which can be rolled back.",
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
    summary: "The maintenance jobs with their last runs and results.",
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
