import { constants, lstatSync } from "node:fs";
import { join, relative } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Log } from "../../security/security.ts";
import { diskPath } from "../byte-path.ts";
import type { StoredChange } from "../changes/change-store.ts";
import { errno } from "../file-errors.ts";
import { filesBelow } from "./layer-file.ts";
import type { LayerFolders } from "./layer-scan.ts";
import { headFolder, linkedFiles, repositoryIn, revertLinked } from "./own-repository.ts";
import type { CommandOrigin, TaskOutcome } from "./task-outcome.ts";
import type { OpenTask } from "./open-task.ts";
import type { OverlayView } from "./types.ts";
import { revertInView } from "./write-to-view.ts";

/** A program that runs in the view of its task beside the task's commands. */
export interface BackgroundProgram {
  /** Stops all its processes for a moment; one that cannot be stopped is ended. @returns lets them continue */
  pause(): Promise<() => void>;
  /** Ends it, because its task ends. */
  stop(): void;
  /** Resolves when no process of it remains. Never rejects. */
  readonly ended: Promise<void>;
}

/** The changes that a look at the layer found, and the paths to remove from it when the view is closed. */
export interface Proposed {
  readonly outcome: TaskOutcome;
  /** Paths that equal the workspace. */
  readonly unchanged: readonly string[];
  /** Folders that go as a whole. */
  readonly trees: readonly string[];
}

/** The view of a task that stays open, because programs run in it. */
export interface LiveTask {
  readonly task: OpenTask;
  readonly programs: Map<BackgroundProgram, CommandOrigin>;
  /** The entry of the layer at each path, as it was when it was looked at last. */
  readonly states: Map<string, string>;
  /** Paths of the layer that show what the workspace has, with the state of the workspace that they show. */
  readonly copies: Map<string, string>;
  /** The same for the repository of a linked work tree: entries that nobody takes over, with the state in which they were looked at. */
  linked: ReadonlyMap<string, string>;
  /** The state of the repository that the view shows. */
  seen: string;
  readonly release: () => void;
  readonly timer: NodeJS.Timeout;
}

export interface LiveViewsDeps {
  readonly workspace: string;
  readonly foldersOf: (view: OverlayView) => LayerFolders;
  readonly changesOf: (questId: string) => { open: StoredChange[]; decided: string[] };
  /** Writes a proposed change into the view. @returns whether the view shows the user's text instead */
  readonly show: (view: OverlayView, change: StoredChange) => Promise<boolean>;
  readonly propose: (task: OpenTask, questId: string, of: CommandOrigin, isSettled: (path: string) => boolean) => Promise<Proposed>;
  readonly closeWithout: (view: OverlayView, paths: readonly string[], trees: readonly string[]) => Promise<void>;
  /** Reserves a task until `release`. */
  readonly reserve: (questId: string, signal: AbortSignal) => Promise<{ release: () => void }>;
  /** Keeps the folder of a task until the returned function is called. */
  readonly holdFolder: (questId: string) => () => void;
  readonly log: Log;
}

/** The open views of tasks with programs in the background. Whatever reads or writes a view does it while they are paused. */
export interface LiveViews {
  get(questId: string): LiveTask | null;
  /** The ids of the quests that have one. */
  quests(): string[];
  /** Runs while no program of the task runs. */
  paused<T>(live: LiveTask, work: () => Promise<T>): Promise<T>;
  /**
   * Makes the view show later decisions and proposals, and proposes the files that programs wrote. Programs are paused.
   * @param of the program to name; the last one if absent
   */
  update(live: LiveTask, questId: string, of?: CommandOrigin): Promise<Proposed>;
  /** Proposes what the layer holds. Programs are paused. */
  look(live: LiveTask, questId: string, of: CommandOrigin): Promise<Proposed>;
  /** Adds a program to the view, which stays open until the last one has ended. @returns what it left at its end */
  add(task: OpenTask, questId: string, program: BackgroundProgram, of: CommandOrigin): { live: LiveTask; last: Promise<TaskOutcome> };
  /** Updates the view soon, unless it shows everything already. */
  updateSoon(questId: string): void;
  /** Ends all programs of a task and closes its view. */
  stop(questId: string): Promise<void>;
  /** Called when a view was closed because its last program ended. */
  onClosed(listener: (questId: string) => void): () => void;
}

/** Several edits at once are shown together (ms). */
const gatherMs = 30;
/** How often (ms) copies are compared with the workspace, where the user may have changed them. */
const compareMs = 1_000;
/** File system clocks advance this slowly (ms). */
const clockTickMs = 100;
/** No state of an entry, so that it is compared again. */
const unknownState = "?";

export function createLiveViews(deps: LiveViewsDeps): LiveViews {
  const { workspace, foldersOf, changesOf } = deps;
  const all = new Map<string, LiveTask>();
  /** Counts proposals and decisions. */
  let events = 0;
  const soon = new Map<string, NodeJS.Timeout>();
  const listeners = new Set<(questId: string) => void>();
  const ends = new Map<string, Set<Promise<unknown>>>();

  const inWorkspace = (path: string): string => stateAt(join(workspace, path));
  /** Changes with the user's commits and checkouts, which replace files that the mount remembers. */
  const repositoryState = (): string => ["HEAD", "index", "logs/HEAD"].map((name) => stateAt(join(headFolder(workspace), name))).join();
  const inLayer = ({ task }: LiveTask, path: string): string => stateAt(join(foldersOf(task.view).upper, path));

  const inLinked = ({ task }: LiveTask, path: string): string => stateAt(join(repositoryIn(task.view, workspace).upper, path));

  async function paused<T>({ programs }: LiveTask, work: () => Promise<T>): Promise<T> {
    const resumes: (() => void)[] = [];
    try {
      for (const program of programs.keys()) resumes.push(await program.pause());
      return await work();
    } finally {
      for (const resume of resumes) resume();
    }
  }

  /** Paths that nobody proposes any more, whose copies in the layer hide another state of the workspace. */
  function outdated(live: LiveTask, decided: readonly string[]): string[] {
    return [...new Set([...decided, ...live.copies.keys()])].filter((path) => {
      const state = inLayer(live, path);
      // What a program wrote there since is looked at first.
      return state !== "" && live.states.get(path) === state && live.copies.get(path) !== inWorkspace(path);
    });
  }

  function isCurrent(live: LiveTask, questId: string): boolean {
    const { open, decided } = changesOf(questId);
    return (
      live.seen === repositoryState() &&
      open.every(({ id, updatedAt }) => live.task.shown.get(id) === updatedAt) &&
      outdated(live, decided).length === 0
    );
  }

  async function update(live: LiveTask, questId: string, of?: CommandOrigin): Promise<Proposed> {
    const { view, shown, conflicts } = live.task;
    live.seen = repositoryState();
    await view.refresh();
    const { open, decided } = changesOf(questId);
    const { merged } = foldersOf(view);
    for (const path of outdated(live, decided)) {
      const state = inWorkspace(path);
      try {
        await revertInView({ merged, lower: workspace }, path, "entry");
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        deps.log(`${path} could not be shown as the workspace has it`, error);
      }
      live.states.set(path, inLayer(live, path));
      live.copies.set(path, state);
    }
    for (const [path, state] of live.linked) if (inLinked(live, path) === state) await revertLinked(view, workspace, path);
    for (const change of open) {
      if (shown.get(change.id) === change.updatedAt) continue;
      if (await deps.show(view, change)) conflicts.add(change.path.absolute);
      else conflicts.delete(change.path.absolute);
      shown.set(change.id, change.updatedAt);
      live.states.set(relative(workspace, change.path.absolute), inLayer(live, relative(workspace, change.path.absolute)));
    }
    return look(live, questId, of ?? [...live.programs.values()].at(-1) ?? { receiptId: null, origin: "" });
  }

  async function look(live: LiveTask, questId: string, of: CommandOrigin): Promise<Proposed> {
    const since = Date.now() - clockTickMs;
    let known = { events: -1, decided: new Set<string>() };
    // A change that is decided while this looks must not be proposed again; the next update shows the workspace there.
    const isSettled = (path: string): boolean => {
      if (known.events !== events) known = { events, decided: new Set(changesOf(questId).decided) };
      return known.decided.has(path) && live.states.get(path) === inLayer(live, path);
    };
    const found = await deps.propose(live.task, questId, of, isSettled);
    const { outcome, unchanged, trees } = found;
    for (const { id, updatedAt } of outcome.proposed) live.task.shown.set(id, updatedAt);
    for (const path of outcome.held) {
      live.states.set(path, inLayer(live, path));
      live.copies.delete(path);
    }
    for (const path of unchanged) {
      const [own, theirs] = [inLayer(live, path), inWorkspace(path)];
      live.states.set(path, own);
      // What changed or went away meanwhile may differ by now.
      const isKnown = theirs === "" ? isDeleted(own) : changedAt(theirs) < since;
      live.copies.set(path, isKnown ? theirs : unknownState);
    }
    // Copies of metadata that nobody takes over would hide what the user's git does.
    live.linked = new Map((trees.length > 0 ? linkedFiles(live.task.view, workspace) : []).map((path) => [path, inLinked(live, path)]));
    for (const tree of trees)
      for (const path of filesBelow(foldersOf(live.task.view).upper, tree)) {
        live.states.set(path, inLayer(live, path));
        live.copies.set(path, "");
      }
    return found;
  }

  function updateSoon(questId: string): void {
    events += 1;
    if (!all.has(questId) || soon.has(questId)) return;
    const run = async (): Promise<void> => {
      soon.delete(questId);
      const known = all.get(questId);
      if (known === undefined || isCurrent(known, questId)) return;
      const { release } = await deps.reserve(questId, new AbortController().signal);
      try {
        const live = all.get(questId);
        if (live !== undefined && live.task.view.alive() && !isCurrent(live, questId)) await paused(live, () => update(live, questId));
      } finally {
        release();
      }
    };
    soon.set(
      questId,
      setTimeout(() => {
        run().catch((error: unknown) => deps.log("the view of a background command could not be updated", error));
      }, gatherMs).unref(),
    );
  }

  /** The last look at what a program wrote; closes the view after the last program. */
  async function end(live: LiveTask, questId: string, program: BackgroundProgram): Promise<TaskOutcome> {
    const { view } = live.task;
    const { release } = await deps.reserve(questId, new AbortController().signal);
    let found: Proposed | null = null;
    try {
      found = await paused(live, () => update(live, questId, live.programs.get(program)));
      return found.outcome;
    } finally {
      live.programs.delete(program);
      try {
        if (live.programs.size === 0) {
          clearInterval(live.timer);
          all.delete(questId);
          if (found !== null) await deps.closeWithout(view, [...new Set([...found.unchanged, ...live.copies.keys()])], found.trees);
        }
      } finally {
        if (live.programs.size === 0) {
          await view.close();
          live.release();
        }
        release();
      }
      if (live.programs.size === 0) for (const listener of listeners) listener(questId);
    }
  }

  return {
    get: (questId) => all.get(questId) ?? null,
    quests: () => [...all.keys()],
    paused,
    update,
    look,
    updateSoon,

    add(task, questId, program, of) {
      const known = all.get(questId);
      const live: LiveTask = known ?? {
        ...{ task, programs: new Map(), states: new Map(), copies: new Map(), linked: new Map(), seen: repositoryState() },
        release: deps.holdFolder(questId),
        timer: setInterval(() => updateSoon(questId), compareMs).unref(),
      };
      all.set(questId, live);
      live.programs.set(program, of);
      const last = program.ended.then(() => end(live, questId, program));
      const pending = ends.get(questId) ?? new Set();
      ends.set(questId, pending.add(last));
      const forget = (): void => void (pending.delete(last) && pending.size === 0 && ends.delete(questId));
      last.then(forget, forget);
      return { live, last };
    },

    async stop(questId) {
      for (const program of all.get(questId)?.programs.keys() ?? []) program.stop();
      await Promise.allSettled([...(ends.get(questId) ?? [])]);
    },

    onClosed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Identifies an entry and its last change; empty where there is none. */
function stateAt(path: string): string {
  try {
    const stats = lstatSync(diskPath(path), { throwIfNoEntry: false, bigint: true });
    return stats === undefined ? "" : `${stats.ino} ${stats.ctimeNs} ${stats.size} ${stats.mode}`;
  } catch (error) {
    if (errno(error) === "ENOTDIR" || errno(error) === "ELOOP") return "";
    throw error;
  }
}

/** When an entry changed, by its state: milliseconds since the epoch. */
function changedAt(state: string): number {
  return Number(state.split(" ")[1]) / 1e6;
}

/** True for the state of the layer's mark of a deleted entry. */
function isDeleted(state: string): boolean {
  return (Number(state.split(" ")[3]) & constants.S_IFMT) === constants.S_IFCHR;
}
