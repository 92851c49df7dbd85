import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { isBelow, type OverlayLayer, type OverlayView } from "../../workspace/workspace.ts";
import { ownerOf } from "../os/command-user.ts";
import { makeMaskFile, makeMaskFolder } from "../secret-masks.ts";
import type { ShellCommand, ShellResult } from "../shell-provider.ts";
import { notBegun } from "./container-command.ts";
import type { ContainerDeps } from "./container-deps.ts";
import type { Engine } from "./container-engine.ts";
import type { Pool } from "./container-pool.ts";
import { type ContainerView, openContainerView } from "./container-view.ts";
import type { MeasuredDisk } from "./disk-usage.ts";
import { unavailable } from "./engine-call.ts";
import { assertPlainPaths, planViewMounts } from "./view-mounts.ts";
import { tryView } from "./view-try.ts";
import type { WarmContainer } from "./warm-container.ts";

export interface ViewCommandsDeps extends ContainerDeps {
  readonly pool: Pool;
  /** The id of the sandbox. */
  readonly sandbox: string;
  /** How much one command may write, bytes. */
  readonly writtenBytes: () => number;
}

/** Commands in the views of tasks. */
export interface ViewCommands {
  /** True for a view that was opened here. */
  holds(view: OverlayView): boolean;
  /** @throws LancelotError `unavailable` where the engine or this system has no views. */
  open(task: { readonly folder: string; readonly layers: readonly OverlayLayer[] }): Promise<OverlayView>;
  /**
   * Lets `work` run a command in a container that shows the view. It is told where the command writes, if that is not on this machine.
   * @throws LancelotError `unavailable`, `invalid_params` for a working folder that the view does not have
   */
  run(
    command: ShellCommand & { readonly view: OverlayView },
    egressSocket: string | null,
    work: (warm: WarmContainer, disk?: MeasuredDisk) => Promise<ShellResult>,
  ): Promise<ShellResult>;
  /**
   * Runs a command in a view, to learn whether the engine supports it.
   * @returns why not, or null
   */
  try(run: (command: ShellCommand) => Promise<ShellResult>, signal?: AbortSignal): Promise<string | null>;
}

export function createViewCommands(deps: ViewCommandsDeps): ViewCommands {
  const { pool } = deps;
  const opened = new WeakMap<OverlayView, ContainerView>();

  async function open({ folder, layers }: Parameters<ViewCommands["open"]>[0]): Promise<OverlayView> {
    assertPlainPaths({ folder, layers });
    const engine = await pool.freeTask(folder);
    const remote = whyRemote(engine, deps.platform);
    if (remote !== null) throw unavailable(remote);
    const { sandbox, env, workspace } = deps;
    const marks = marksOf(engine);
    if (marks === "trusted" && storesReferences())
      throw unavailable(
        "Overlays of this system refer to renamed folders and changed files instead of storing them, and Podman cannot change that.",
      );
    const made = await openContainerView({ sandbox, folder, layers, env, owner: ownerOf(workspace), marks });
    opened.set(made.view, made);
    return made.view;
  }

  const run: ViewCommands["run"] = async (command, egressSocket, work) => {
    const { view, signal } = command;
    const held = opened.get(view);
    if (held === undefined) throw unavailable("This task's files were opened by another sandbox.");
    const layer = view.layers.find(({ lower }) => command.cwd === lower || command.cwd.startsWith(`${lower}/`));
    const cwd = layer === undefined ? null : join(view.merged(layer), relative(layer.lower, command.cwd));
    if (cwd === null || statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new LancelotError("invalid_params", "The command's working folder does not exist in the task's files.");
    const engine = await pool.reach();
    const others = view.layers.map(({ lower }) => lower).filter((lower) => lower !== deps.workspace && !isBelow(deps.dataDir, lower));
    const masked = await deps.masked(others, view);
    mkdirSync(pool.folder, { recursive: true, mode: 0o700 });
    const workFolders = new Map(view.layers.map((one) => [one.name, pool.workFolders.make()]));
    const plan = planViewMounts({
      ...{ engine, view, workFolders, masked },
      maskOf: (path) => makeMaskFile(pool.folder, path),
      maskFolder: makeMaskFolder(pool.folder),
    });
    const resume = await held.suspend();
    let warm: WarmContainer | null = null;
    const end = async (): Promise<void> => {
      if (warm !== null) await pool.endInView(warm);
      pool.workFolders.remove([...workFolders.values()]);
      await resume();
    };
    let stillRunning: Promise<void> | undefined;
    try {
      warm = await pool.startInView(plan, view.folder, egressSocket, signal);
      const result = await work(warm);
      // Until then, the layers belong to the container.
      stillRunning = result.stillRunning?.then(end);
      return stillRunning === undefined ? result : { ...result, stillRunning };
    } catch (error) {
      if (warm === null && signal.aborted) return notBegun();
      throw error;
    } finally {
      if (stillRunning === undefined) await end();
    }
  };

  return {
    holds: (view) => opened.has(view),
    open,
    run,
    try: (runCommand, signal) =>
      tryView({
        ...{ dataDir: deps.dataDir, workspace: deps.workspace, timeoutMs: 30_000, runCommand, signal, open },
        lowerIn: (folder) => join(folder, "lower"),
        layersOf: (lower) => [
          { name: "try", lower },
          { name: "workspace", lower: deps.workspace },
        ],
      }),
  };
}

function whyRemote(engine: Engine, platform: NodeJS.Platform): string | null {
  return engine.remote || platform !== "linux" ? "The container engine runs on another machine." : null;
}

/** True where mounts with `trusted` marks do not store all that was written, unless their options say otherwise. */
function storesReferences(): boolean {
  return ["redirect_dir", "metacopy"].some((name) => {
    const path = `/sys/module/overlay/parameters/${name}`;
    return existsSync(path) && readFileSync(path, "utf8").trim() !== "N";
  });
}

/** Podman of root mounts with its own choice of marks, which only root can read. */
function marksOf({ name, rootless }: Engine): "user" | "trusted" {
  return name === "podman" && !rootless ? "trusted" : "user";
}
