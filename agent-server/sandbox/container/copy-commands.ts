import { rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import {
  formatBytes,
  type LeftInCopy,
  type OverlayLayer,
  type OverlayView,
  recordCopy,
  statViewFile,
  summarizeGenerated,
  writeChangeSet,
} from "../../workspace/workspace.ts";
import { type CopiedPaths, createCopiedPaths } from "../copy/copied-paths.ts";
import { type CopyOwners, hasArrived, type KnownCopy, packFiles, planCopy, wantedFiles } from "../copy/copy-in.ts";
import { type CopyChanges, keptFiles, receiveChanges, sortChanges } from "../copy/copy-out.ts";
import { type Listing, ListingError } from "../copy/copy-listing.ts";
import { TarError } from "../copy/tar-reader.ts";
import { ownerOf } from "../os/command-user.ts";
import { openOverlayView } from "../overlay/overlay-view.ts";
import type { ShellCommand, ShellResult } from "../shell-provider.ts";
import { notBegun } from "./container-command.ts";
import type { Engine } from "./container-engine.ts";
import { insidePath, type MountPlan } from "./container-mounts.ts";
import { supervisor } from "./container-scripts.ts";
import { type CopyHelper, startHelper } from "./copy-helper.ts";
import { type CopyVolumes, makeVolumes, removeOrphanedVolumes, removeVolumes } from "./copy-volumes.ts";
import { engineMessage, unavailable } from "./engine-call.ts";
import type { ViewCommands, ViewCommandsDeps } from "./view-commands.ts";
import { tryView } from "./view-try.ts";
import type { WarmContainer } from "./warm-container.ts";

interface OpenedCopy {
  left: LeftInCopy;
  isBusy: boolean;
}

const nothingLeft: LeftInCopy = { generated: [], secret: [], special: [], tooLarge: [] };
/** Tasks whose copies are known; of others, all files are sent again. */
const maxKnown = 16;
/** Files of a workspace that are copied. */
const maxFiles = 200_000;
const maxFileBytes = 256 * 1024 * 1024;
const maxNames = 200;
/** Folder of a task for files that are taken out of a copy. */
const arrivalsName = "arrivals";
/** Commands in copies of a task's view, on engines that cannot mount its layers (docs/decisions/0026-copied-level.md). */
export function createCopyCommands(deps: ViewCommandsDeps): ViewCommands {
  const { pool, workspace } = deps;
  const opened = new WeakMap<OverlayView, OpenedCopy>();
  const copies = new Map<string, KnownCopy>();

  async function open({ folder, layers }: Parameters<ViewCommands["open"]>[0]): Promise<OverlayView> {
    if (deps.platform !== "linux") throw unavailable("Commands can work in a copy of the workspace on Linux only.");
    if (layers.length > 1) throw unavailable("A copy has the workspace only.");
    const engine = await pool.freeTask(folder);
    await removeOrphanedVolumes(engine, { ...pool.tasks, folder: join(deps.dataDir, "tasks") });
    const held: OpenedCopy = { left: nothingLeft, isBusy: false };
    const made = await openOverlayView({ sandbox: deps.sandbox, folder, layers, env: deps.env, owner: ownerOf(workspace) });
    const view: OverlayView = { ...made, leftInCopy: () => held.left };
    opened.set(view, held);
    return view;
  }

  function known(folder: string): KnownCopy {
    const copy = copies.get(folder) ?? { same: new Map(), heldBack: new Set() };
    copies.delete(folder);
    copies.set(folder, copy);
    for (const old of [...copies.keys()].slice(0, -maxKnown)) copies.delete(old);
    return copy;
  }

  const run: ViewCommands["run"] = async (command, egressSocket, work) => {
    const { view } = command;
    const held = opened.get(view);
    const [layer, ...others] = view.layers;
    if (held === undefined || layer === undefined || others.length > 0 || !view.alive())
      throw unavailable("This task's files are closed, or were opened by another sandbox.");
    // Each command compares the copy before and after itself.
    if (held.isBusy) throw unavailable("Another command of this task works in its copy of the workspace. Wait until it has ended.");
    held.left = nothingLeft;
    held.isBusy = true;
    try {
      return await runAlone(command, held, layer, egressSocket, work);
    } finally {
      held.isBusy = false;
    }
  };

  async function runAlone(
    command: Parameters<ViewCommands["run"]>[0],
    held: OpenedCopy,
    layer: OverlayLayer,
    egressSocket: string | null,
    work: Parameters<ViewCommands["run"]>[2],
  ): Promise<ShellResult> {
    const { view, signal } = command;
    const engine = await pool.reach();
    // The proxy's socket is on this machine.
    if (egressSocket !== null && (engine.remote || engine.desktop))
      throw unavailable("Commands with network access cannot run in a container on this system. Run the command without network access.");
    const paths = createCopiedPaths(workspace, await deps.masked([], view));
    const task = pool.ofTask(view.folder, engine);
    const volumes = await makeVolumes(engine, task);
    const merged = view.merged(layer);
    const mode = statSync(layer.lower).mode & 0o7777;
    const helper = await startHelper({ engine, task, volumes, mode }, signal);
    const stop = (): void => void helper.close();
    signal.addEventListener("abort", stop, { once: true });
    let warm: WarmContainer | null = null;
    const end = async (): Promise<void> => {
      if (warm !== null) await pool.endInView(warm);
      await helper.close();
    };
    let stillRunning: Promise<void> | undefined;
    let isBegun = false;
    try {
      const starting = pool.startInView(planOf(layer, volumes, deps.platform), view.folder, egressSocket, signal);
      const copy = known(view.folder);
      const [started, sent] = await Promise.allSettled([
        starting,
        copyIn({ helper, merged, paths, copy, owners: ownersOf(task.user, engine), maxBytes: deps.writtenBytes() }),
      ]);
      if (started.status === "fulfilled") warm = started.value;
      if (started.status === "rejected") throw started.reason;
      if (sent.status === "rejected") throw sent.reason;
      signal.removeEventListener("abort", stop);
      if (signal.aborted) return notBegun();
      const { wanted, inside } = sent.value;
      expectFolder(command, layer, inside);
      isBegun = true;
      const result = await work(started.value, helper.disk);
      // What an engine does that was lost is not taken out, and the next command replaces it.
      const isLost = result.ended === "lost" || result.stillRunning !== undefined;
      if (isLost) copies.delete(view.folder);
      stillRunning = result.stillRunning?.then(end);
      if (isLost) return stillRunning === undefined ? result : { ...result, stillRunning };
      await pool.endInView(started.value);
      warm = null;
      try {
        held.left = await takeOut({ helper, view, merged, paths, copy, before: inside, wanted });
        return result;
      } catch (error) {
        copies.delete(view.folder);
        const why =
          error instanceof LancelotError || error instanceof ListingError || error instanceof TarError
            ? error.message
            : engineMessage(error);
        command.onOutput(
          "stderr",
          Buffer.from(`\nlancelot: none of the command's changes was kept, because they could not be read (${why})\n`),
        );
        return { ...result, exitCode: null, ended: "lost" };
      }
    } catch (error) {
      if (signal.aborted && !isBegun) return notBegun();
      throw error instanceof ListingError ? unavailable(error.message, error) : error;
    } finally {
      signal.removeEventListener("abort", stop);
      if (stillRunning === undefined) await end();
    }
  }

  async function takeOut(of: {
    readonly helper: CopyHelper;
    readonly view: OverlayView;
    readonly merged: string;
    readonly paths: CopiedPaths;
    readonly copy: KnownCopy;
    readonly before: Listing;
    readonly wanted: Awaited<ReturnType<typeof wantedFiles>>;
  }): Promise<LeftInCopy> {
    const { helper, view, merged, paths, copy, before, wanted } = of;
    const folder = join(view.folder, arrivalsName);
    rmSync(folder, { recursive: true, force: true });
    try {
      const after = await helper.list();
      const limits = { file: maxFileBytes, total: deps.writtenBytes() };
      const changes = await sortChanges({ before, after, wanted, paths, limits });
      const set = await receiveChanges(changes, { before, after, folder, pack: helper.pack });
      await writeChangeSet(merged, set);
      for (const path of changes.removed) copy.same.delete(path);
      for (const path of changes.tooLarge) copy.heldBack.add(path);
      for (const path of changes.taken) {
        copy.heldBack.delete(path);
        const file = await statViewFile(merged, path);
        if (file !== null) copy.same.set(path, { here: file.stamp, there: after.get(path)?.stamp ?? "" });
      }
      const bytes = [...after.values()].reduce((sum, { size }) => sum + size, 0);
      const kept = keptFiles(after, { wanted, paths, taken: changes.taken, heldBack: copy.heldBack });
      recordCopy(view.folder, { bytes, kept: summarizeGenerated(kept) });
      return leftOf(changes);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  return {
    holds: (view) => opened.has(view),
    open,
    run,
    try: (runCommand, signal) =>
      tryView({
        ...{ dataDir: deps.dataDir, workspace, timeoutMs: 60_000, runCommand, signal, open },
        // With all names of the workspace's path, which the engine has to mount.
        lowerIn: (folder) => join(folder, "lower", relative("/", workspace)),
        layersOf: (lower) => [{ name: "workspace", lower }],
        async cleanup(task) {
          copies.delete(task);
          if (pool.engine !== null) await removeVolumes(pool.engine, pool.ofTask(task, pool.engine));
        },
      }),
  };
}

async function copyIn(of: {
  readonly helper: CopyHelper;
  readonly merged: string;
  readonly paths: CopiedPaths;
  readonly copy: KnownCopy;
  readonly owners: CopyOwners;
  readonly maxBytes: number;
}): Promise<{ wanted: Awaited<ReturnType<typeof wantedFiles>>; inside: Listing }> {
  const { helper, merged, paths, copy, owners, maxBytes } = of;
  const [wanted, found] = await Promise.all([wantedFiles(merged, paths), helper.list()]);
  const bytes = [...wanted.values()].reduce((sum, { size }) => sum + size, 0);
  if (wanted.size > maxFiles || bytes > maxBytes)
    throw unavailable(
      `The workspace is too large to be copied into the container engine: ${wanted.size.toLocaleString("en-US")} files, ${formatBytes(bytes)} without those that git ignores. Use an engine on this machine.`,
    );
  const { remove, send } = await planCopy(wanted, found, copy, paths);
  if (remove.length + send.length === 0) return { wanted, inside: found };
  await helper.remove(remove);
  const skipped = new Set<string>();
  if (send.length > 0) await helper.put(packFiles(merged, wanted, { send, owners, paths, onSkipped: (path) => skipped.add(path) }));
  for (const path of skipped) wanted.delete(path);
  const inside = await helper.list();
  if (!hasArrived(wanted, send, inside)) throw unavailable("The container engine did not store the copy of the workspace.");
  for (const path of send) {
    const file = wanted.get(path);
    if (file === undefined || file.isRacy) copy.same.delete(path);
    else copy.same.set(path, { here: file.stamp, there: inside.get(path)?.stamp ?? "" });
  }
  return { wanted, inside };
}

/** @throws LancelotError `invalid_params` */
function expectFolder({ cwd }: ShellCommand, { lower }: OverlayLayer, inside: Listing): void {
  const way = relative(lower, cwd);
  if (inside.get(way)?.kind !== "folder")
    throw new LancelotError("invalid_params", "The command's working folder does not exist in the task's files.");
}

function planOf({ lower }: OverlayLayer, { files, temporary }: CopyVolumes, platform: NodeJS.Platform): MountPlan {
  const volume = (Source: string, Target: string) => ({
    ...{ Type: "volume" as const, Source, Target },
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "local", Options: {} } },
  });
  return {
    mounts: [volume(temporary, "/tmp"), volume(files, insidePath(lower, platform))],
    binds: [],
    bound: [],
    masks: [],
    isCopy: true,
    hasTemporaryFolder: true,
    fingerprint: "",
  };
}

/** In a rootless engine, other ids than the user's need not exist. */
function ownersOf(user: string, { rootless }: Engine): CopyOwners {
  const [uid = 0, gid = 0] = user.split(":").map(Number);
  return { user: { uid, gid }, masks: rootless ? { uid, gid } : { uid: supervisor, gid: supervisor } };
}

function leftOf({ generated, secret, special, tooLarge }: CopyChanges): LeftInCopy {
  const named = (paths: readonly string[]): string[] => paths.slice(0, maxNames);
  return {
    generated: summarizeGenerated(generated),
    ...{ secret: named(secret), special: named(special), tooLarge: named(tooLarge) },
  };
}
