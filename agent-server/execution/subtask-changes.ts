import type { ActionContext } from "../contract/action.ts";
import { LancelotError } from "../contract/errors.ts";
import { type Governance, isAmongPaths } from "../governance/governance.ts";
import {
  type Changes,
  type ChangeStore,
  type CurrentText,
  mergeFiles,
  type PathLocks,
  type StoredChange,
  type TargetFile,
  type Tasks,
  unifiedDiff,
  type WorkspaceFiles,
} from "../workspace/workspace.ts";
import type { TaskSettlement } from "./task-settlement.ts";

/** What a sub-task begins with, by absolute path: the undecided changes of its task. */
type SubtaskStart = ReadonlyMap<string, StartFile>;

interface StartFile {
  readonly display: string;
  /** The texts of the disk and of the task; null for a change that is decided as a whole. */
  readonly texts: { readonly disk: string | null; readonly task: string | null } | null;
  readonly images: StoredChange["images"];
}

/** What became of the proposals of a sub-task. Paths are relative to the workspace. */
export interface JoinedChanges {
  readonly joined: readonly { readonly path: string; readonly changeId: string; readonly isApplied: boolean }[];
  /** Not merged, with what the sub-task changed. */
  readonly conflicts: readonly { readonly path: string; readonly diff: string }[];
  /** Not merged: not among the paths that the sub-task may change. */
  readonly outside: readonly string[];
  /** Generated files and commits that stay in the copy of the sub-task. */
  readonly left: { readonly generated: readonly string[]; readonly commits: readonly string[] };
}

/** The proposals of a sub-task, apart from those of its task until they join (requirement A11). */
export interface SubtaskChanges {
  /** Gives a sub-task the proposals of its task to begin with. */
  begin(of: { readonly parent: string; readonly child: string }): Promise<SubtaskStart>;
  /**
   * Merges what a sub-task proposed into the proposals of its task, file by file. Where both changed the same lines, the task keeps its
   * version. @param of.context of the call in the task @throws LancelotError `cancelled`.
   */
  join(of: {
    readonly context: ActionContext & { readonly quest: string };
    readonly child: string;
    readonly start: SubtaskStart;
    readonly paths: readonly string[] | undefined;
    readonly receiptId: string;
  }): Promise<JoinedChanges>;
  /** Drops what is left of a sub-task: its processes, its proposals and its copy of the workspace. */
  drop(child: string): Promise<void>;
}

interface Deps {
  readonly changes: Changes;
  readonly store: Pick<ChangeStore, "list" | "open">;
  readonly files: Pick<WorkspaceFiles, "current">;
  readonly governance: Pick<Governance, "posture">;
  readonly locks: PathLocks;
  readonly settlement: Pick<TaskSettlement, "left" | "forget">;
  readonly background: Pick<Tasks["background"], "stop">;
}

/** Changes of a quest that are read at once. */
const maxChanges = 100_000;
/** Characters of a change that could not be merged, for the model. */
const maxDiff = 4_000;

export function createSubtaskChanges(deps: Deps): SubtaskChanges {
  const { changes, store, files } = deps;
  const openOf = (questId: string): StoredChange[] => store.list({ questId, open: true, limit: maxChanges }).toReversed();

  async function begin({ parent, child }: { parent: string; child: string }): Promise<SubtaskStart> {
    const start = new Map<string, StartFile>();
    for (const change of openOf(parent)) {
      const { absolute, display } = change.path;
      if (change.images !== null) {
        // Links and folders that a command made stay in the copy of the task.
        if (change.images.after?.kind !== undefined) continue;
        changes.copy(change.id, { questId: child, receiptId: change.receiptId });
        start.set(absolute, { display, texts: null, images: change.images });
        continue;
      }
      const file = targetOf(change);
      const current = await readText(file, change);
      const mine = current === null ? null : changes.overlay(parent, file, current);
      if (current === null || mine === null || mine.conflict) continue;
      changes.propose({ ...ofChange(change), questId: child, file, current, text: mine.text, receiptId: change.receiptId });
      start.set(absolute, { display, texts: { disk: current.text, task: mine.text }, images: null });
    }
    return start;
  }

  /** Null for a file that is no text any more, or cannot be read. */
  async function readText(file: TargetFile, change: StoredChange | null): Promise<CurrentText | null> {
    try {
      const current = await files.current(file);
      return current.text === null && change !== null ? { ...current, encoding: change.encoding } : current;
    } catch (error) {
      if (error instanceof LancelotError && error.code !== "cancelled") return null;
      throw error;
    }
  }

  type Merged = { readonly changeId: string } | "unchanged" | { readonly diff: string };

  async function joinText(of: JoinOne): Promise<Merged> {
    const { parent, child, change, file, receiptId, start } = of;
    const current = await readText(file, change);
    if (current === null) return { diff: "" };
    const theirs = changes.overlay(child, file, current);
    const base = start === undefined ? { text: current.text } : rebased(start, current.text);
    if (theirs.conflict || base === null) return { diff: "" };
    if (theirs.text === base.text) return "unchanged";
    const mine = changes.overlay(parent, file, current);
    const isWhole = (store.open(parent, file.absolute)?.images ?? null) !== null;
    const merged = mine.conflict || isWhole ? null : mergeFiles(base.text, mine.text, theirs.text);
    if (merged === null) return { diff: unifiedDiff(file.display, base.text ?? "", theirs.text ?? "").slice(0, maxDiff) };
    if (merged.text === mine.text) return "unchanged";
    const known = change ?? store.open(parent, file.absolute);
    const joined = changes.propose({
      ...(known === null ? {} : ofChange(known)),
      ...{ questId: parent, file, current, text: merged.text, receiptId },
    });
    // Taking back what the task proposed leaves no change.
    if (joined === null) return "unchanged";
    if (merged.text === theirs.text) for (const { at: _, ...evidence } of change?.evidence ?? []) changes.addEvidence(joined.id, evidence);
    return { changeId: joined.id };
  }

  function joinWhole({ parent, change, file, receiptId, start }: JoinOne & { readonly change: StoredChange }): Merged {
    if (start !== undefined && sameImages(start.images, change.images)) return "unchanged";
    const mine = store.open(parent, file.absolute);
    if (mine !== null && (start === undefined || !sameImages(start.images, mine.images))) return { diff: "" };
    const { id } = changes.copy(change.id, { questId: parent, receiptId });
    for (const { at: _, ...evidence } of change.evidence) changes.addEvidence(id, evidence);
    return { changeId: id };
  }

  async function drop(child: string): Promise<void> {
    await deps.background.stop(child);
    for (const { path } of openOf(child)) changes.withdraw(child, path.absolute);
    deps.settlement.forget(child);
  }

  return {
    begin,
    drop,

    async join({ context, child, start, paths, receiptId }) {
      const parent = context.quest;
      await deps.background.stop(child);
      const open = new Map(openOf(child).map((change) => [change.path.absolute, change]));
      const reverted = [...start].filter(([absolute, { texts }]) => texts !== null && !open.has(absolute));
      const all: { absolute: string; display: string; change: StoredChange | null }[] = [
        ...[...open.values()].map((change) => ({ ...change.path, change })),
        ...reverted.map(([absolute, { display }]) => ({ absolute, display, change: null })),
      ];
      const joined: { path: string; changeId: string; isApplied: boolean }[] = [];
      const conflicts: { path: string; diff: string }[] = [];
      const outside: string[] = [];
      const applies = deps.governance.posture(context) === "autonomous";
      for (const { absolute, display, change } of all) {
        context.signal.throwIfAborted();
        const one = { parent, child, change, file: targetOf({ path: { absolute, display } }), receiptId, start: start.get(absolute) };
        const isOutside = paths !== undefined && !isAmongPaths(display, paths);
        if (isOutside) {
          const isUntouched = one.start !== undefined && change?.updatedAt === change?.createdAt;
          if (!isUntouched) outside.push(display);
          continue;
        }
        const merged = await deps.locks.hold([absolute], async () =>
          change !== null && change.images !== null ? joinWhole({ ...one, change }) : joinText(one),
        );
        if (merged === "unchanged") continue;
        if ("diff" in merged) conflicts.push({ path: display, diff: merged.diff });
        else joined.push({ path: display, changeId: merged.changeId, isApplied: applies && (await apply(merged.changeId, context)) });
      }
      const { generated, commits, inCopy } = deps.settlement.left(child);
      const names = [...(generated?.groups ?? []), ...inCopy].map(({ name }) => name);
      return { joined, conflicts, outside, left: { generated: names, commits: commits.map(({ subject }) => subject) } };
    },
  };

  /** Applies a change as an edit of the task would be; it stays proposed where that needs the user. */
  async function apply(changeId: string, context: ActionContext): Promise<boolean> {
    if (changes.review.get(changeId).change.caution !== undefined) return false;
    try {
      return await changes.applyAllowed(changeId, context);
    } catch (error) {
      if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
      return false;
    }
  }
}

interface JoinOne {
  readonly parent: string;
  readonly child: string;
  /** Null where the sub-task took back what its task proposed. */
  readonly change: StoredChange | null;
  readonly file: TargetFile;
  readonly receiptId: string;
  readonly start: StartFile | undefined;
}

function targetOf({ path: { absolute, display } }: Pick<StoredChange, "path">): TargetFile {
  return { absolute, display, asked: absolute, inside: true };
}

/** What a proposal says besides its text. */
function ofChange({ mode, origin, caution }: StoredChange): { mode?: number; origin?: string; caution?: string } {
  return { ...(mode === null ? {} : { mode }), ...(origin === null ? {} : { origin }), ...(caution === null ? {} : { caution }) };
}

/** The text that the sub-task began with, on the disk as it is now; null when the two conflict. */
function rebased({ texts }: StartFile, now: string | null): { text: string | null } | null {
  return texts === null ? null : mergeFiles(texts.disk, now, texts.task);
}

function sameImages(one: StoredChange["images"], other: StoredChange["images"]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
