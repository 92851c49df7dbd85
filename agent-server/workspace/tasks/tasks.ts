import { join } from "node:path";
import type { Change } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Log } from "../../security/security.ts";
import type { StoredChange } from "../changes/change-store.ts";
import { createTurns, type Turns } from "../effects/write-turns.ts";
import { readWhole } from "../file-operations.ts";
import type { RefState } from "../git/ref-state.ts";
import { encodeText } from "../text/encoding.ts";
import type { TargetFile } from "../workspace-files.ts";
import { recoverGenerated } from "./apply-generated.ts";
import { dropFromLayer, findOpaque, type OpaqueFolders } from "./layer-drop.ts";
import { type LayerFolders, statOf } from "./layer-scan.ts";
import type { OpenTask } from "./open-task.ts";
import { emptyLayer, isLinkedWritten, linkedLayer, openWithRepository, readOwnState, readOwnWork, repositoryIn } from "./own-repository.ts";
import type { TaskFolders } from "./task-folders.ts";
import { type BackgroundProgram, createLiveViews, type LiveTask, type Proposed } from "./live-views.ts";
import { type CommandOrigin, type OutcomeDeps, readOutcome, type TaskOutcome, withLeftInCopy } from "./task-outcome.ts";
import { nothingLeft, type PendingWork, type TaskStore } from "./task-store.ts";
import type { OpenView, OverlayView } from "./types.ts";
import { createTaskRests, type TaskRests } from "./task-rest.ts";
import { workspaceLayer } from "./workspace-layer.ts";
import { putInView } from "./write-to-view.ts";

export type { BackgroundProgram } from "./live-views.ts";
export type { CommandOrigin, TaskOutcome } from "./task-outcome.ts";
export type { OpenView } from "./types.ts";

/** A command of a task. While it is open, no other command of the task runs. */
export interface TaskCommand {
  readonly view: OverlayView;
  /**
   * Finds the written files, proposes them and closes the view, unless programs run in the background. Call it once no process of the command
   * remains.
   */
  finish(of: CommandOrigin): Promise<TaskOutcome>;
  /**
   * In place of `finish`, for a command that keeps running: proposes what it wrote so far, and lets other commands of the task begin in the
   * same view. @returns also what it wrote until its end
   */
  keep(of: CommandOrigin, program: BackgroundProgram): Promise<{ readonly outcome: TaskOutcome; readonly last: Promise<TaskOutcome> }>;
  /** Closes the view of a command that did not start. */
  release(): Promise<void>;
}

/** Runs the commands of tasks in copies of the workspace that show what each task proposed. */
export interface Tasks {
  /**
   * Opens the view of a task: the workspace with the user's edits, what the task's commands wrote, and its proposed changes.
   * @throws LancelotError `cancelled` while waiting, `conflict` while another window works on the task, `unavailable` where there are no views.
   */
  begin(of: { readonly questId: string; readonly signal: AbortSignal; readonly openView: OpenView }): Promise<TaskCommand>;
  /** Generated files and commits. They cannot change while a program of the task runs in the background. */
  readonly rests: TaskRests;
  /** Programs in the background. */
  readonly background: {
    /** The sandbox whose view they keep open, in which the other commands of the task run too; null without any. */
    sandboxOf(questId: string): string | null;
    /** Ends those of a task. */
    stop(questId: string): Promise<void>;
    /** Called when the last one of a task has ended. */
    onClosed(listener: (questId: string) => void): () => void;
  };
}

export interface TasksDeps extends OutcomeDeps {
  readonly folders: Pick<TaskFolders, "use" | "interrupted" | "folderOf">;
  readonly tasks: TaskStore;
  /** Calls the listener when a change was proposed or decided; needed for programs in the background. */
  readonly onChanged?: (listener: (change: Pick<Change, "questId">) => void) => unknown;
  readonly log?: Log;
}

interface ProposedContent {
  /** Null for no file. */
  readonly bytes: Buffer | null;
  readonly mode: number;
  readonly isConflict: boolean;
}

/** Changes of a quest that are read at once. */
const maxChanges = 100_000;

export function createTasks(deps: TasksDeps): Tasks {
  const { workspace, files, objects, changes, store } = deps;
  const layer = workspaceLayer(workspace);
  const turnsOf = new Map<string, Turns>();

  const foldersOf = (view: OverlayView): LayerFolders => ({ lower: workspace, upper: view.upper(layer), merged: view.merged(layer) });

  function turns(questId: string): Turns {
    const known = turnsOf.get(questId) ?? createTurns();
    turnsOf.set(questId, known);
    return known;
  }

  /** Changes of a quest in this workspace: undecided ones, and the paths of which all changes were decided. */
  function changesOf(questId: string): { open: StoredChange[]; decided: string[] } {
    const all = store.list({ questId, limit: maxChanges }).filter(({ path }) => path.absolute.startsWith(`${workspace}/`));
    const open = all.filter(({ status }) => status === "pending");
    const undecided = new Set(open.map(({ path }) => path.absolute));
    const decided = new Set(all.map(({ path }) => path.absolute).filter((absolute) => !undecided.has(absolute)));
    return { open, decided: [...decided].map(relativeTo) };
  }

  const relativeTo = (absolute: string): string => absolute.slice(workspace.length + 1);

  /** Reserves a task until `release`. @throws LancelotError `cancelled`, `conflict`. */
  async function reserve(questId: string, signal: AbortSignal): Promise<{ folder: string; release: () => void }> {
    const endTurn = await turns(questId).alone(signal);
    try {
      const used = deps.folders.use(questId);
      return {
        folder: used.folder,
        release() {
          used.release();
          endTurn();
        },
      };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  /** Makes the workspace show through where the task has nothing to propose any more. Closes the view. */
  async function closeWithout(view: OverlayView, paths: readonly string[], trees: readonly string[] = []): Promise<void> {
    const { upper } = foldersOf(view);
    const { linked, upper: metadata } = repositoryIn(view, workspace);
    const stale = [...paths, ...(linked === null ? trees : [])].filter((path) => statOf(join(upper, path)) !== null);
    const opaque: OpaqueFolders = stale.length === 0 ? new Map() : await findOpaque(foldersOf(view), stale);
    await view.close();
    if (linked !== null && trees.length > 0) await emptyLayer(metadata);
    for (const path of stale) await dropFromLayer({ upper, lower: workspace, opaque }, path, trees.includes(path) ? "tree" : "entry");
  }

  /**
   * Writes a proposed change into the view, unless the view shows it already.
   * @returns whether it conflicts with what the user wrote; the view then shows the user's text
   */
  async function show(view: OverlayView, change: StoredChange): Promise<boolean> {
    const { upper, merged } = foldersOf(view);
    const path = relativeTo(change.path.absolute);
    const content = await proposedContent(change);
    if (content === null || (content.bytes === null && isBelowNoFolder(merged, path))) return false;
    const own = join(upper, path);
    const known = statOf(own);
    if (content.bytes === null ? known?.isCharacterDevice() === true : known?.isFile() === true) {
      if (content.bytes === null) return content.isConflict;
      const written = await readWhole({ absolute: own, display: path }, Number.MAX_SAFE_INTEGER);
      if (written !== null && written.bytes.equals(content.bytes) && written.mode === content.mode) return content.isConflict;
    }
    await putInView({ merged, lower: workspace }, path, content.bytes, content.mode);
    return content.isConflict;
  }

  /** The file that a change proposes. Null where a command made it: links and folders are in the layer already. */
  async function proposedContent(change: StoredChange): Promise<ProposedContent | null> {
    const { absolute, display } = change.path;
    if (change.images !== null) {
      const { after } = change.images;
      if (after === null) return { bytes: null, mode: 0, isConflict: false };
      return after.kind === undefined ? { bytes: await objects.get(after.hash), mode: after.mode, isConflict: false } : null;
    }
    const file: TargetFile = { absolute, display, asked: absolute, inside: true };
    const current = await files.current(file);
    const { text, conflict } = changes.overlay(change.questId, file, current);
    const mode = change.mode ?? (statOf(absolute)?.mode ?? 0o666 & ~process.umask()) & 0o777;
    const encoding = current.text === null ? change.encoding : current.encoding;
    return { bytes: text === null ? null : encodeText(text, encoding), mode, isConflict: conflict };
  }

  const readBase = async (questId: string, signal: AbortSignal): Promise<RefState | null> =>
    deps.tasks.get(questId).repository?.base ?? readOwnState(workspace, signal);

  async function open(questId: string, folder: string, openView: OpenView, signal: AbortSignal): Promise<OpenTask> {
    const { open: undecided, decided } = changesOf(questId);
    await recoverGenerated(folder);
    // The state before the view: what the user commits meanwhile is not the task's.
    const reading = readBase(questId, signal);
    reading.catch(() => undefined);
    let view = await openWithRepository(openView, folder, workspace);
    const base = await reading.catch(async (error: unknown) => {
      await view.close();
      throw error;
    });
    if (view.wasReset) deps.tasks.save(questId, nothingLeft);
    const { upper } = foldersOf(view);
    if (decided.some((path) => statOf(join(upper, path)) !== null)) {
      await closeWithout(view, decided);
      view = await openWithRepository(openView, folder, workspace);
    }
    const conflicts = new Set<string>();
    try {
      for (const change of undecided) if (await show(view, change)) conflicts.add(change.path.absolute);
    } catch (error) {
      await view.close();
      throw error;
    }
    const shown = new Map(undecided.map(({ id, updatedAt }) => [id, updatedAt]));
    return { view, conflicts, shown, base };
  }

  /** Proposes what the layer holds. */
  async function propose(
    { view, conflicts, shown, base }: OpenTask,
    questId: string,
    of: CommandOrigin,
    isSettled: (path: string) => boolean = () => false,
  ): Promise<Proposed> {
    const folders = foldersOf(view);
    const hasRepository = base !== null && linkedLayer(workspace) === null;
    const { unchanged, hasRepositoryWork, ...outcome } = await readOutcome(deps, { folders, questId, hasRepository, isSettled }, of);
    const isWritten = hasRepositoryWork || isLinkedWritten(view, workspace);
    const kept = new Set(outcome.held.map((path) => join(workspace, path)));
    for (const change of changesOf(questId).open)
      if (shown.get(change.id) === change.updatedAt && !kept.has(change.path.absolute) && !conflicts.has(change.path.absolute))
        changes.withdraw(questId, change.path.absolute);
    if (of.tests !== undefined)
      for (const change of changesOf(questId).open)
        if (shown.get(change.id) === change.updatedAt && !conflicts.has(change.path.absolute))
          changes.addEvidence(change.id, { command: of.origin, receiptId: of.receiptId, passed: of.tests === "passed" });
    const repository = isWritten && base !== null ? await pendingWork(base, view) : null;
    const metadata = repository === null || !hasRepository ? [] : [".git"];
    const opaque = await findOpaque(folders, [...(outcome.generated?.paths ?? []), ...metadata]);
    const { generated: known } = deps.tasks.get(questId);
    // Looking at the same files again does not make them newer than their review.
    const isKnown = JSON.stringify(known?.groups) === JSON.stringify(outcome.generated?.groups);
    deps.tasks.save(questId, { generated: isKnown && views.get(questId) !== null ? known : outcome.generated, repository, opaque });
    return {
      outcome: withLeftInCopy({ ...outcome, inCopy: [], tooLarge: [], work: repository?.work ?? null }, view.leftInCopy?.()),
      unchanged,
      trees: isWritten && repository === null ? [".git"] : [],
    };
  }

  /** The work in the repository that is worth keeping; null where only its copies in the layer differ, which would hide the user's. */
  async function pendingWork(base: RefState, view: OverlayView): Promise<PendingWork | null> {
    const work = await readOwnWork(workspace, { base, ...repositoryIn(view, workspace) });
    if (work === null) return null;
    const isStaged = work.dropped.some(({ what }) => what === "staged files" || what === "index");
    return work.refs.length > 0 || work.refused.length > 0 || isStaged ? { base: work.base, work } : null;
  }

  const views = createLiveViews({
    ...{ workspace, foldersOf, changesOf, show, propose, closeWithout, reserve },
    holdFolder: (questId) => deps.folders.use(questId).release,
    log: deps.log ?? (() => undefined),
  });
  deps.onChanged?.(({ questId }) => views.updateSoon(questId));

  /** The view that programs in the background keep open, brought up to date; null without any. */
  async function openLive(questId: string, signal: AbortSignal): Promise<LiveTask | null> {
    const live = views.get(questId);
    if (live === null) return null;
    if (!live.task.view.alive()) throw new LancelotError("conflict", "The view of this task's background command was lost. Stop it first.");
    await views.paused(live, () => views.update(live, questId));
    live.task.base = await readBase(questId, signal);
    return live;
  }

  async function finish(task: OpenTask, questId: string, of: CommandOrigin): Promise<TaskOutcome> {
    const live = views.get(questId);
    if (live !== null) return (await views.paused(live, () => views.look(live, questId, of))).outcome;
    const { outcome, unchanged, trees } = await propose(task, questId, of);
    await closeWithout(task.view, unchanged, trees);
    return outcome;
  }

  return {
    rests: createTaskRests({
      ...{
        workspace,
        governance: deps.governance,
        tasks: deps.tasks,
        interrupted: deps.folders.interrupted,
        folderOf: deps.folders.folderOf,
      },
      async hold({ questId, signal }, work) {
        const { folder, release } = await reserve(questId, signal);
        try {
          if (views.get(questId) !== null)
            throw new LancelotError("conflict", "A command of this task runs in the background. Stop it first, then try again.");
          return await work(folder);
        } finally {
          release();
        }
      },
    }),

    background: {
      sandboxOf: (questId) => views.get(questId)?.task.view.sandbox ?? null,
      stop: views.stop,
      onClosed: views.onClosed,
    },

    async begin({ questId, signal, openView }) {
      const { folder, release } = await reserve(questId, signal);
      try {
        const task = (await openLive(questId, signal))?.task ?? (await open(questId, folder, openView, signal));
        const { view } = task;
        let isOver = false;
        const end = async <T>(work: () => Promise<T>): Promise<T> => {
          if (isOver) throw new LancelotError("internal", "The command of the task was over already.");
          isOver = true;
          try {
            return await work();
          } finally {
            if (views.get(questId) === null) await view.close();
            release();
          }
        };
        return {
          view,
          finish: (of) => end(() => finish(task, questId, of)),
          release: () => end(() => Promise.resolve()),
          keep: (of, program) =>
            end(async () => {
              const { live, last } = views.add(task, questId, program, of);
              try {
                const { outcome } = await views.paused(live, () => views.look(live, questId, of));
                return { outcome, last };
              } catch (error) {
                program.stop();
                last.catch(() => undefined);
                throw error;
              }
            }),
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** True where an entry above the path is no folder, so that the path is gone with its folder. */
function isBelowNoFolder(root: string, path: string): boolean {
  const above = path.split("/").slice(0, -1);
  return above.some((_, index) => statOf(join(root, ...above.slice(0, index + 1)))?.isDirectory() !== true);
}
