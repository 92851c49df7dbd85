import { existsSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import {
  type Checkpoints,
  type Effects,
  type FileImage,
  type FileOutcome,
  isPlainFolder,
  toTouched,
  type CommandChanges,
  commandChangesOutputs,
  noQuest,
  type TaskOutcome,
  type Touch,
  taskOutputs,
  type Tasks,
} from "../workspace/workspace.ts";
import type { Action, InView, Result, RunContext } from "./action.ts";
import { type Expectation, expectationOf } from "./verify-files.ts";

export interface ActionEffectDeps {
  readonly checkpoints: Checkpoints;
  /** Null where no workspace can be watched. */
  readonly effects: Effects | null;
  /** Null where there are no tasks. */
  readonly tasks: Pick<Tasks, "begin"> | null;
  readonly log: Log;
}

export interface RanEffect<T> {
  readonly result: Result<T>;
  /** What the touched files must hold now. */
  readonly expectations: Expectation[];
}

/** The effect of one action, with the before-images that undo it. */
export interface ActionEffect<T> {
  /** @throws LancelotError of the effect; `internal` where a watched action cannot be watched. */
  run(): Promise<RanEffect<T>>;
  /** Keeps what a failed effect left, so that undo covers it. Never throws. */
  recordPartial(): Promise<void>;
  /** Closes the checkpoint. */
  finish(): void;
  /** The checkpoint of the touched files; null before it was taken, and for a watched action. */
  readonly checkpointId: string | null;
  readonly watched: CommandChanges | null;
  /** True once the effect itself has started. */
  readonly hasStarted: boolean;
  /** `own` with checkpoint and changed files. A receipt is cut at its end, so the list of changed files comes last. */
  outputs(own: Record<string, unknown>): Record<string, unknown>;
}

/** @param beforeRun called right before the effect; it throws when the effect may not start */
export function createActionEffect<T>(
  { checkpoints, effects, tasks, log }: ActionEffectDeps,
  action: Action<T>,
  receiptId: string,
  beforeRun: () => void,
): ActionEffect<T> {
  const { quest } = action;
  /** With the folders that the effect creates above its files, so that undo removes them too. */
  let touches = action.touches;
  const state = {
    checkpointId: null as string | null,
    watched: null as CommandChanges | null,
    outcome: null as TaskOutcome | null,
    /** The checkpoint of a command that may still run; the watch closes it. */
    openCheckpointId: null as string | null,
    hasStarted: false,
  };

  function start(context: Omit<RunContext, "receiptId">): Promise<Result<T>> {
    if (action.signal.aborted) throw new LancelotError("cancelled", "Stopped before anything was done.");
    beforeRun();
    state.hasStarted = true;
    return action.run({ receiptId, ...context });
  }

  async function runTouching(): Promise<RanEffect<T>> {
    if (touches.length > 0) {
      touches = withMissingFolders(touches);
      const kind = action.isResumable === true ? "restore" : "action";
      state.checkpointId = await checkpoints.take({ questId: quest, receiptId, touches, kind });
    }
    const result = await start({ checkpointId: state.checkpointId });
    const { checkpointId } = state;
    return { result, expectations: checkpointId === null ? [] : await imagesAfter(checkpointId, result.fileOutcomes) };
  }

  async function runWatched(watcher: Effects): Promise<RanEffect<T>> {
    const { signal, approvedPaths } = action;
    const watch = await watcher.begin({
      questId: quest,
      receiptId,
      signal,
      ...(approvedPaths === undefined ? {} : { approved: approvedPaths }),
    });
    const compare = async (): Promise<void> => {
      state.watched = await watch.finish();
      action.onTouched?.(toTouched(state.watched));
    };
    let result: Result<T>;
    try {
      result = await start({ checkpointId: watch.checkpointId });
    } catch (error) {
      // The reason of the failure reaches the caller even if the comparison fails too; recovery compares again later.
      await compare().catch((problem: unknown) => log("the changes of a failed command could not be determined", problem));
      throw error;
    }
    if (result.stillRunning !== undefined) {
      state.openCheckpointId = watch.checkpointId;
      watch.finishLater(result.stillRunning);
    } else await compare();
    return { result, expectations: [] };
  }

  async function runInView(allTasks: Pick<Tasks, "begin">, { openView, origin, runsTests }: InView): Promise<RanEffect<T>> {
    const command = await allTasks.begin({ questId: quest ?? noQuest, signal: action.signal, openView });
    const propose = async (tests?: "passed" | "failed"): Promise<void> => {
      state.outcome = await command.finish({ receiptId, origin, ...(tests === undefined ? {} : { tests }) });
      action.onTaskOutcome?.(state.outcome);
    };
    let result: Result<T>;
    try {
      result = await start({ checkpointId: null, view: command.view });
    } catch (error) {
      // What it wrote before it failed is proposed too. The reason of the failure reaches the caller in every case.
      await (state.hasStarted ? propose() : command.release()).catch((problem: unknown) =>
        log("the changes of a failed command could not be proposed", problem),
      );
      throw error;
    }
    if (result.background !== undefined) {
      const { program, onEnd } = result.background;
      const { outcome, last } = await command.keep({ receiptId, origin }, program).catch((error: unknown) => {
        void program.ended.then(() => onEnd(null));
        throw error;
      });
      state.outcome = outcome;
      action.onTaskOutcome?.(outcome);
      void last.then(onEnd, (problem: unknown) => {
        log("the changes of a background command could not be proposed", problem);
        onEnd(null);
      });
      return { result, expectations: [] };
    }
    const proposeAtEnd = () => propose(runsTests ? (result.failure === undefined ? "passed" : "failed") : undefined);
    if (result.stillRunning === undefined) await proposeAtEnd();
    else
      void result.stillRunning
        .then(proposeAtEnd)
        .catch((problem: unknown) => log("the changes of a command that ended late could not be proposed", problem));
    return { result, expectations: [] };
  }

  /** Reads the touched files after the effect, for undo and verification. */
  async function imagesAfter(checkpointId: string, fileOutcomes: readonly FileOutcome[] = []): Promise<Expectation[]> {
    const before = new Map(checkpoints.files({ id: checkpointId }).map((file) => [file.path.absolute, file.before]));
    const images = await checkpoints.finishFiles(
      checkpointId,
      touches.map(({ path }) => path),
    );
    const expectations: Expectation[] = [];
    for (const [index, touch] of touches.entries()) {
      const { absolute } = touch.path;
      const found: FileImage = images[index] ?? null;
      // A parent folder was replaced by a link: the file is gone with the folder, and the link leads to another place.
      if (found === null && touch.planned === null && !(await isPlainFolder(dirname(absolute)))) continue;
      const outcome = fileOutcomes.find((one) => one.absolute === absolute);
      const expectation = expectationOf(touch, before.get(absolute) ?? null, found, outcome);
      if (expectation !== null) expectations.push(expectation);
    }
    return expectations;
  }

  return {
    get checkpointId() {
      return state.checkpointId;
    },
    get watched() {
      return state.watched;
    },
    get hasStarted() {
      return state.hasStarted;
    },

    run() {
      if (action.inView !== undefined) {
        if (tasks === null) throw new LancelotError("internal", "There are no tasks here, so this action did not run.");
        return runInView(tasks, action.inView);
      }
      if (action.watch !== undefined) {
        if (effects === null) throw new LancelotError("internal", "The changes of this action cannot be watched here, so it did not run.");
        return runWatched(effects);
      }
      return effects !== null && waitsForCommands(action) ? effects.share(action.signal, runTouching) : runTouching();
    },

    async recordPartial() {
      if (state.checkpointId === null) return;
      for (const { path } of touches) await checkpoints.finishFiles(state.checkpointId, [path]).catch(() => undefined);
    },

    finish() {
      if (state.checkpointId !== null) checkpoints.finish(state.checkpointId);
    },

    outputs(own) {
      const checkpointId = state.watched?.checkpointId ?? state.checkpointId ?? state.openCheckpointId;
      const { changed, ...facts } = state.watched === null ? {} : commandChangesOutputs(state.watched);
      const pending = state.openCheckpointId === null ? {} : { changesPending: true };
      const checkpoint = checkpointId === null ? {} : { checkpointId };
      const left = state.outcome === null ? {} : taskOutputs(state.outcome);
      return { ...checkpoint, ...pending, ...facts, ...own, ...left, ...(changed === undefined ? {} : { changed }) };
    },
  };
}

/** Adds the missing folders above files of the workspace that will exist, outermost first. */
function withMissingFolders(touches: readonly Touch[]): readonly Touch[] {
  const known = new Set(touches.map(({ path }) => path.absolute));
  const folders: Touch[] = [];
  for (const { path, planned, plannedImage } of touches) {
    if (planned === null || plannedImage === null || isAbsolute(path.display)) continue;
    const missing: Touch[] = [];
    let { absolute, display } = path;
    for (;;) {
      [absolute, display] = [dirname(absolute), dirname(display)];
      if (display === "." || known.has(absolute) || existsSync(absolute)) break;
      known.add(absolute);
      missing.unshift({ path: { absolute, display }, plannedImage: { hash: "", mode: 0o777 & ~process.umask(), kind: "folder" } });
    }
    folders.push(...missing);
  }
  return [...folders, ...touches];
}

/**
 * True for actions that wait until a running command ends. Reviewed writes do not wait: the watch can tell them from the command's.
 * Questions to the user and web pages write nothing here, and can take hours.
 */
function waitsForCommands({ consent, touches, steps }: Pick<Action<unknown>, "consent" | "touches" | "steps">): boolean {
  if (consent === "review") return false;
  return touches.length > 0 || steps.some(({ capability }) => capability === "file_ops" || capability === "repo_ops");
}
