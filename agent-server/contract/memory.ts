import * as z from "zod";
import { Id, Timestamp } from "./common.ts";

/** Always in the prompt, in this order. The persona comes from the soul and is never edited. */
export const CoreBlockName = z.enum(["persona", "human", "operating_rules", "mission", "workspace_state"]);
export type CoreBlockName = z.infer<typeof CoreBlockName>;

export const MemoryTier = z.enum(["core", "working", "episodic", "archival"]);
export type MemoryTier = z.infer<typeof MemoryTier>;

export const MemoryTarget = z.enum([
  "core:persona",
  "core:human",
  "core:operating_rules",
  "core:mission",
  "core:workspace_state",
  "working",
  "episodic",
  "archival",
]);
export type MemoryTarget = z.infer<typeof MemoryTarget>;

export const MemoryKind = z.enum(["fact", "preference", "rule", "decision", "note", "message", "event", "summary", "experience"]);
export type MemoryKind = z.infer<typeof MemoryKind>;

/** Where the outcomes of ended tasks are (kind `experience`): of this workspace, written by the host alone. */
export const experienceNamespace = "task_experience";

/** `global`: every workspace. `workspace`: this one. `quest:<id>`: one task of this one. `task_experience`: the outcomes of its tasks. */
export const Namespace = z
  .string()
  .max(220)
  .regex(/^(?:global|workspace|task_experience|quest:[\w.:-]{1,200})$/);

/**
 * Where a memory comes from. `ref` names the evidence: `message:<id>` (what the owner or the model said), `receipt:<id>` (the output of
 * an action), or a file or address in words. Claims are checked: `user` without a message of the owner counts as `agent`.
 */
export const Provenance = z.object({ source: z.enum(["system", "user", "agent", "tool"]), ref: z.string().max(500).optional() });
export type Provenance = z.infer<typeof Provenance>;

export const Tag = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._:/+#-]*$/u);
export const Tags = z.array(Tag).max(20);
export const Confidence = z.number().min(0).max(1);

export const MemoryItem = z.object({
  id: Id,
  tier: MemoryTier,
  /** Of core items; null for the others. */
  block: CoreBlockName.nullable(),
  namespace: Namespace,
  kind: MemoryKind,
  /** Of a message kept by reference: what the task still holds of it, empty when the task was deleted. */
  content: z.string(),
  /** As stated when it was written. */
  confidence: Confidence,
  /** Confidence as it counts now, after decay and reinforcement. */
  weight: Confidence,
  tags: z.array(z.string()),
  provenance: Provenance,
  questId: Id.nullable(),
  /** The commit that wrote this version. */
  commitId: Id,
  /** From 1, one more with each change. */
  version: z.int(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** When it was last confirmed. */
  reinforcedAt: Timestamp,
  /** How often it was confirmed. */
  reinforced: z.int(),
  expiresAt: Timestamp.nullable(),
});
export type MemoryItem = z.infer<typeof MemoryItem>;

export const EditOp = z.enum(["insert", "replace", "delete", "rethink"]);
export type EditOp = z.infer<typeof EditOp>;

/** One change of one item, as it was done. */
export const MemoryDiff = z.object({
  itemId: Id,
  target: MemoryTarget,
  namespace: Namespace,
  op: z.enum(["insert", "replace", "delete", "rethink", "restore", "set_aside"]),
  /** The text before and after; null where there was, or is, none. */
  before: z.string().nullable(),
  after: z.string().nullable(),
  confidence: Confidence,
  provenance: Provenance,
  reason: z.string(),
});
export type MemoryDiff = z.infer<typeof MemoryDiff>;

/** A problem a check found. */
export const MemoryProblem = z.object({ rule: z.string(), message: z.string() });
export type MemoryProblem = z.infer<typeof MemoryProblem>;

export const QuarantineEntry = z.object({
  id: Id,
  op: z.enum(["insert", "replace", "delete", "rethink", "set_aside"]),
  target: MemoryTarget,
  namespace: Namespace,
  /** The item it would change; null for an insert. */
  itemId: Id.nullable(),
  /** The text it would leave; null for a delete. */
  content: z.string().nullable(),
  /** The text that is there now; null for an insert, or when it is gone. */
  current: z.string().nullable(),
  kind: MemoryKind,
  tags: z.array(z.string()),
  confidence: Confidence,
  provenance: Provenance,
  /** The reason given by the agent. */
  reason: z.string(),
  /** Why it needs approval. */
  why: z.string(),
  /** Current check results; an entry with problems cannot be approved. */
  verifier: z.object({ ok: z.boolean(), problems: z.array(MemoryProblem) }),
  status: z.enum(["pending", "promoted", "denied", "withdrawn"]),
  questId: Id.nullable(),
  /** The commit it was part of, and the one that promoted it. */
  commitId: Id,
  promotedBy: Id.nullable(),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
  decidedReason: z.string().nullable(),
});
export type QuarantineEntry = z.infer<typeof QuarantineEntry>;

export const MemoryCommit = z.object({
  id: Id,
  status: z.enum(["open", "committed", "rolled_back", "abandoned"]),
  author: z.enum(["owner", "agent", "system"]),
  questId: Id.nullable(),
  reason: z.string(),
  createdAt: Timestamp,
  finishedAt: Timestamp.nullable(),
  /** Receipt of the commit, with its diff. */
  receiptId: Id.nullable(),
  /** What it changed, in a list 200 changes of it at most; empty for commits older than the snapshots that are kept: then the receipt has it. */
  diff: z.array(MemoryDiff),
  /** Items it changed, also where the diff is no longer kept. */
  changes: z.int(),
  /** Edits of it that were quarantined. */
  quarantined: z.int(),
  /** Commits this one rolled back; empty for an ordinary one. */
  rollbackOf: z.array(Id),
  rolledBackBy: Id.nullable(),
  /** Why it cannot be rolled back now; null when it can. */
  problem: z.string().nullable(),
});
export type MemoryCommit = z.infer<typeof MemoryCommit>;

export const CoreBlock = z.object({
  block: CoreBlockName,
  /** Tokens, estimated: what it takes, and the most it may take. */
  tokens: z.int(),
  cap: z.int(),
  /** The compiled text. */
  text: z.string(),
  /** One more with each commit that changed it; 0 for the persona. */
  version: z.int(),
  updatedAt: Timestamp.nullable(),
  /** The name of the soul's version or of the owner's file it also comes from. */
  sources: z.array(z.string()),
  /** In the order they are compiled. */
  entries: z.array(MemoryItem),
  /** Entries that do not fit, and why. */
  excluded: z.array(z.object({ id: Id, reason: z.string() })),
});
export type CoreBlock = z.infer<typeof CoreBlock>;

export const CompiledContext = z.object({
  contextId: Id,
  createdAt: Timestamp,
  objective: z.string(),
  questId: Id.nullable(),
  mode: z.enum(["normal", "crusader"]),
  soulVersion: z.string().nullable(),
  includedBlocks: z.array(CoreBlockName),
  includedItemIds: z.array(Id),
  /** Excluded candidates; blocks as `core:<block>`. */
  excluded: z.array(z.object({ id: Id, reason: z.string() })),
  tokenEstimate: z.int(),
  maxTokens: z.int(),
  /** Tokens by part: the blocks by name, `working`, `episodic`, `archival`, `frame` (titles and marks). */
  breakdown: z.record(z.string(), z.int()),
  receiptId: Id.nullable(),
  renderedPrompt: z.string(),
});
export type CompiledContext = z.infer<typeof CompiledContext>;

export const MemoryJobName = z.enum([
  "memory_compact_working",
  "memory_decay_archival",
  "memory_summarize_episodic",
  "memory_integrity_audit",
]);
export type MemoryJobName = z.infer<typeof MemoryJobName>;

export const MemoryJob = z.object({
  name: MemoryJobName,
  schedule: z.string(),
  what: z.string(),
  last: z
    .object({
      at: Timestamp,
      status: z.enum(["run", "failed", "skipped"]),
      detail: z.string(),
      receiptId: Id.nullable(),
      durationMs: z.int(),
    })
    .nullable(),
  nextAt: Timestamp.nullable(),
});
export type MemoryJob = z.infer<typeof MemoryJob>;

export const SearchHit = z.object({
  item: MemoryItem,
  /** Higher is better; comparable within one answer alone. */
  score: z.number(),
  /** The part of the text around what matched. */
  snippet: z.string(),
});
export type SearchHit = z.infer<typeof SearchHit>;
