import * as z from "zod";
import { Id, page, Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const HunkState = z.enum(["pending", "accepted", "rejected", "conflict"]);
export type HunkState = z.infer<typeof HunkState>;

/** One run of changed lines. Line numbers are 1-based; `oldLines`/`newLines` may be 0 for a pure insertion or deletion. */
export const Hunk = z.object({
  index: z.int().min(0),
  oldStart: z.int(),
  oldLines: z.int(),
  newStart: z.int(),
  newLines: z.int(),
  /** Unified-diff lines with their leading ' ', '-' or '+'. */
  lines: z.array(z.string()),
  state: HunkState,
});
export type Hunk = z.infer<typeof Hunk>;

export const ChangeStatus = z.enum(["pending", "accepted", "rejected", "mixed", "superseded"]);
export type ChangeStatus = z.infer<typeof ChangeStatus>;

/** A test run of the task that saw a proposed change before anything was in the workspace. */
export const Evidence = z.object({ command: z.string(), passed: z.boolean(), receiptId: Id.nullable(), at: Timestamp });
export type Evidence = z.infer<typeof Evidence>;

/**
 * A proposed edit of one file. Hunk indexes are stable for the lifetime of the change. The file on disk is `base` with the
 * accepted hunks applied, merged with the owner's edits in the meantime.
 */
export const Change = z.object({
  id: Id,
  questId: Id,
  /** Relative to the workspace, with forward slashes. */
  path: z.string(),
  kind: z.enum(["create", "modify", "delete"]),
  status: ChangeStatus,
  hunks: z.array(Hunk),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  receiptId: Id.nullable(),
  /** User-facing message when a hunk could not be merged; null otherwise. */
  problem: z.string().nullable(),
  /** True when the change is decided as a whole: a binary file, a link, a folder, or permissions. Its texts then describe both sides. */
  whole: z.boolean().optional(),
  /** The command that made the change; absent for an edit. */
  origin: z.string().optional(),
  /** Why the change is decided on its own: another program would run the file. Absent for an ordinary change. */
  caution: z.string().optional(),
  /** Permission bits that the file gets with its new text; absent when it keeps those it has. */
  mode: z.int().min(0).max(0o777).optional(),
  /** Tests that ran with exactly this change, oldest first; absent before the first. */
  evidence: z.array(Evidence).optional(),
});
export type Change = z.infer<typeof Change>;

export const ChangeTexts = z.object({
  change: Change,
  /** The text that the proposal is based on; null when the file did not exist. */
  base: z.string().nullable(),
  /** Text if every hunk that is not rejected were accepted; null for a deletion. */
  proposed: z.string().nullable(),
});
export type ChangeTexts = z.infer<typeof ChangeTexts>;

export const Checkpoint = z.object({
  id: Id,
  questId: Id.nullable(),
  receiptId: Id.nullable(),
  createdAt: Timestamp,
  /** At most 500. */
  files: z.array(z.object({ path: z.string(), existed: z.boolean(), size: z.int() })),
  /** How many files it holds. */
  total: z.int(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

export const RestoreResult = z.object({
  restored: z.array(z.string()),
  /** Files that were edited since in a way that does not merge; left as they are. */
  conflicts: z.array(z.object({ path: z.string(), message: z.string() })),
  /** The checkpoint that undoes this restore. */
  undoCheckpointId: Id.nullable(),
});
export type RestoreResult = z.infer<typeof RestoreResult>;

/** A checkpoint, some of its files (relative to the workspace; a folder includes its contents), or everything a quest did, `since` a time: its files alone. */
export const RestoreOf = z.union([
  z.object({ id: Id, paths: z.array(z.string().min(1).max(4096)).min(1).max(1_000).optional() }),
  z.object({ questId: Id, since: Timestamp.optional() }),
]);
export type RestoreOf = z.infer<typeof RestoreOf>;

/** Generated files (ignored by git) of one folder that a task has and the workspace does not. */
export const GeneratedGroup = z.object({ name: z.string(), created: z.int(), modified: z.int(), deleted: z.int() });
export type GeneratedGroup = z.infer<typeof GeneratedGroup>;

/** What a task has besides its proposed changes. Generated files and commits reach the workspace after their review. */
export const TaskLeft = z.object({
  questId: Id,
  /** Null when there are none. Largest first. */
  generated: z.object({ groups: z.array(GeneratedGroup), receiptId: Id.nullable() }).nullable(),
  /** Newest first. */
  commits: z.array(z.object({ hash: z.string(), subject: z.string() })),
  /**
   * Files that stay in the engine's copy of the workspace, for the task's next commands, and never reach the workspace: those that git
   * ignores or that are too large. Largest first.
   */
  inCopy: z.array(GeneratedGroup),
});
export type TaskLeft = z.infer<typeof TaskLeft>;

export const changeMethods = {
  "changes.list": method({
    summary: "Lists proposed changes, newest first; only undecided ones when `open` is true.",
    access: "any",
    params: z.object({ questId: Id.optional(), open: z.boolean().optional(), limit: z.int().min(1).max(500).default(200) }),
    result: page(Change),
  }),
  "changes.get": method({
    summary: "Returns a change with both texts.",
    access: "any",
    params: z.object({ id: Id }),
    result: ChangeTexts,
  }),
  "changes.decide": method({
    summary: "Accepts or rejects hunks of a change; all undecided hunks when none are given.",
    access: "owner",
    params: z.object({ id: Id, decision: z.enum(["accept", "reject"]), hunks: z.array(z.int().min(0)).max(10_000).optional() }),
    result: Change,
  }),
  "changes.left": method({
    summary: "Returns the generated files and commits of a task that are not in the workspace yet, and the files that stay in its copy.",
    access: "any",
    params: z.object({ questId: Id }),
    result: TaskLeft,
  }),
  "changes.decideGenerated": method({
    summary: "Applies the generated files of a task to the workspace, or discards them.",
    access: "owner",
    params: z.object({ questId: Id, decision: z.enum(["accept", "reject"]) }),
    result: TaskLeft,
  }),
  "checkpoints.list": method({
    summary: "Lists checkpoints, newest first.",
    access: "any",
    params: z.object({ questId: Id.optional(), limit: z.int().min(1).max(500).default(100) }),
    result: page(Checkpoint),
  }),
  "checkpoints.diff": method({
    summary: "Previews restoring a checkpoint or undoing a quest, as one unified diff per file.",
    access: "any",
    params: RestoreOf,
    result: z.object({ files: z.array(z.object({ path: z.string(), diff: z.string() })) }),
  }),
  "checkpoints.restore": method({
    summary: "Restores files to their state before a checkpoint or a quest. To undo it, restore `undoCheckpointId`.",
    access: "owner",
    params: RestoreOf,
    result: RestoreResult,
  }),
};
