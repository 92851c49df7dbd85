import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/governance.ts";
import { diskPath } from "../byte-path.ts";
import type { Changes } from "../changes/changes.ts";
import type { ChangeStore, StoredChange } from "../changes/change-store.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import { createTurns, type Turns } from "../effects/write-turns.ts";
import { readWhole } from "../file-operations.ts";
import { encodeText } from "../text/encoding.ts";
import { type TargetFile, type WorkspaceFiles } from "../workspace-files.ts";
import { type ChangeClass, classesOf } from "./change-class.ts";
import { ignoredPaths } from "./ignored-paths.ts";
import { dropFromLayer, findOpaque, type OpaqueFolders } from "./layer-drop.ts";
import { type LayerChange, type LayerFolders, scanLayer } from "./layer-scan.ts";
import { proposeChange } from "./propose-change.ts";
import type { TaskFolders } from "./task-folders.ts";
import type { OverlayLayer, OverlayView } from "./types.ts";
import { putInView } from "./write-to-view.ts";

/** Opens a view of a task; a sandbox does that. */
export type OpenView = (task: { readonly folder: string; readonly layers: readonly OverlayLayer[] }) => Promise<OverlayView>;

/** What a command of a task changed, by what happens to it. */
export interface TaskOutcome {
  /** Source files: changes that were proposed, new or again. */
  readonly proposed: readonly Change[];
  /** Changes by class, source included, in the order of the scan. */
  readonly found: ReadonlyMap<ChangeClass, readonly LayerChange[]>;
  /** Pipes, sockets and devices: they stay with the task. */
  readonly special: readonly string[];
}

/** For the review: the receipt of a command, and its text. */
export interface CommandOrigin {
  readonly receiptId: string | null;
  readonly origin: string;
}

/** A command of a task. While it is open, no other command of the task runs. */
export interface TaskCommand {
  readonly view: OverlayView;
  /** Finds what was written, proposes it and closes the view. Call it once no process of the command remains. */
  finish(of: CommandOrigin): Promise<TaskOutcome>;
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
}

export interface TasksDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly folders: Pick<TaskFolders, "use">;
  readonly files: Pick<WorkspaceFiles, "current">;
  readonly objects: ObjectStore;
  readonly changes: Pick<Changes, "overlay" | "propose" | "proposeWhole" | "withdraw">;
  readonly store: Pick<ChangeStore, "list">;
  readonly governance: Pick<Governance, "judgeName">;
  readonly generatedFolders: () => ReadonlySet<string>;
}

interface ProposedContent {
  /** Null for no file. */
  readonly bytes: Buffer | null;
  readonly mode: number;
  readonly isConflict: boolean;
}

interface OpenTask {
  readonly view: OverlayView;
  /** Paths where the view shows the user's text, because the proposed change does not merge with it. */
  readonly conflicts: ReadonlySet<string>;
}

/** Changes of a quest that are read at once. */
const maxChanges = 100_000;

export function createTasks(deps: TasksDeps): Tasks {
  const { workspace, files, objects, changes, store } = deps;
  const layer: OverlayLayer = { name: "workspace", lower: workspace };
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

  /** Makes the workspace show through where the task has nothing to propose any more. Closes the view. */
  async function closeWithout(view: OverlayView, paths: readonly string[]): Promise<void> {
    const { upper } = foldersOf(view);
    const stale = paths.filter((path) => lstatSync(diskPath(join(upper, path)), { throwIfNoEntry: false }) !== undefined);
    const opaque: OpaqueFolders = stale.length === 0 ? new Map() : await findOpaque(foldersOf(view), stale);
    await view.close();
    for (const path of stale) await dropFromLayer({ upper, lower: workspace, opaque }, path, "entry");
  }

  /**
   * Writes a proposed change into the view, unless the view shows it already.
   * @returns whether it conflicts with what the user wrote; the view then shows the user's text
   */
  async function show(view: OverlayView, change: StoredChange): Promise<boolean> {
    const { upper, merged } = foldersOf(view);
    const path = relativeTo(change.path.absolute);
    const content = await proposedContent(change);
    if (content === null) return false;
    const own = join(upper, path);
    const known = lstatSync(own, { throwIfNoEntry: false });
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
    const mode = change.mode ?? (lstatSync(absolute, { throwIfNoEntry: false })?.mode ?? 0o666 & ~process.umask()) & 0o777;
    const encoding = current.text === null ? change.encoding : current.encoding;
    return { bytes: text === null ? null : encodeText(text, encoding), mode, isConflict: conflict };
  }

  async function open(questId: string, folder: string, openView: OpenView): Promise<OpenTask> {
    const { open: undecided, decided } = changesOf(questId);
    let view = await openView({ folder, layers: [layer] });
    const { upper } = foldersOf(view);
    if (decided.some((path) => lstatSync(diskPath(join(upper, path)), { throwIfNoEntry: false }) !== undefined)) {
      await closeWithout(view, decided);
      view = await openView({ folder, layers: [layer] });
    }
    const conflicts = new Set<string>();
    try {
      for (const change of undecided) if (await show(view, change)) conflicts.add(change.path.absolute);
    } catch (error) {
      await view.close();
      throw error;
    }
    return { view, conflicts };
  }

  async function finish({ view, conflicts }: OpenTask, questId: string, of: CommandOrigin): Promise<TaskOutcome> {
    const folders = foldersOf(view);
    const unchanged: string[] = [];
    const all = await scanLayer(folders, (path) => unchanged.push(path));
    const special = all.filter(({ after }) => after?.kind === "other");
    const written = all.filter(({ after }) => after?.kind !== "other");
    const classes = await classesOf(written, folders, {
      judgeName: deps.governance.judgeName,
      ignored: (paths) => {
        const isFolder = new Map(written.map(({ path, before, after }) => [path, (after ?? before)?.kind === "folder"]));
        const named = paths.map((path) => ({ path, isFolder: isFolder.get(path) === true }));
        return ignoredPaths(workspace, named, AbortSignal.timeout(60_000));
      },
      generatedFolders: deps.generatedFolders(),
    });
    const found = Map.groupBy(written, ({ path }) => classes.get(path) ?? "source");
    const proposed: Change[] = [];
    const sources = inReviewOrder(found.get("source") ?? [], all);
    for (const change of sources) {
      const made = await proposeChange({ workspace, files, objects, changes }, change, { questId, upper: folders.upper, ...of });
      if (made !== null) proposed.push(made);
    }
    const kept = new Set(sources.map(({ path }) => join(workspace, path)));
    for (const change of changesOf(questId).open)
      if (!kept.has(change.path.absolute) && !conflicts.has(change.path.absolute)) changes.withdraw(questId, change.path.absolute);
    await closeWithout(view, unchanged);
    return { proposed, found, special: special.map(({ path }) => path) };
  }

  return {
    async begin({ questId, signal, openView }) {
      const endTurn = await turns(questId).alone(signal);
      let release = endTurn;
      try {
        const used = deps.folders.use(questId);
        release = () => {
          used.release();
          endTurn();
        };
        const task = await open(questId, used.folder, openView);
        const { view } = task;
        let isOver = false;
        const end = async (work: () => Promise<unknown>): Promise<void> => {
          if (isOver) throw new LancelotError("internal", "The command of the task was over already.");
          isOver = true;
          try {
            await work();
          } finally {
            await view.close();
            release();
          }
        };
        return {
          view,
          async finish(of) {
            let outcome: TaskOutcome = { proposed: [], found: new Map(), special: [] };
            await end(async () => {
              outcome = await finish(task, questId, of);
            });
            return outcome;
          },
          release: () => end(() => Promise.resolve()),
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/**
 * The order of proposals: a review goes from the last to the first, so deleted folders come first, and what was in them later. A created
 * folder with content is left out, because its content creates it.
 * @param all the changes of every class
 */
function inReviewOrder(changes: readonly LayerChange[], all: readonly LayerChange[]): LayerChange[] {
  const filled = new Set<string>();
  for (const { path } of all)
    for (let slash = path.lastIndexOf("/"); slash !== -1; slash = path.lastIndexOf("/", slash - 1)) filled.add(path.slice(0, slash));
  const isDeletedFolder = ({ before, after }: LayerChange): boolean => after === null && before?.kind === "folder";
  const rest = changes.filter((change) => {
    const isCreatedFolder = change.before === null && change.after?.kind === "folder";
    return !isDeletedFolder(change) && !(isCreatedFolder && filled.has(change.path));
  });
  return [...changes.filter(isDeletedFolder), ...rest];
}
