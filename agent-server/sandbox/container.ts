import type { ContainerDeps } from "./container/container-deps.ts";
import { statSync } from "node:fs";
import { relative, sep } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { ProviderHealth, SandboxState } from "../contract/providers.ts";
import { ask, EngineSilent, unavailable, engineMessage } from "./container/engine-call.ts";
import { notBegun, NotRunning, runCommand } from "./container/container-command.ts";
import { findImage, makeImage, type WantedImage, wantedImage } from "./container/container-image.ts";
import { assertMountable, insidePath } from "./container/container-mounts.ts";
import { createPool } from "./container/container-pool.ts";
import { proxyPort } from "./container/container-scripts.ts";
import { type MeasuredDisk, watchDisk, watchGrowth } from "./container/disk-usage.ts";
import { countWritten } from "./container/count-written.ts";
import { createViewLevel } from "./container/view-level.ts";
import type { WarmContainer } from "./container/warm-container.ts";
import type { EgressGrant } from "./egress.ts";
import { proxyEnvironment } from "./command-environment.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import type { ShellCommand, ShellProvider, ShellResult } from "./shell-provider.ts";

/** The container sandbox: a shell provider, with the state that the panel shows. */
export interface ContainerShell extends ShellProvider {
  state(): Pick<SandboxState, "engine" | "image" | "container" | "limits">;
  /** The packages that a ready image was built with; empty when they are not known. */
  packages(): readonly string[];
  /** Builds the image, or pulls the one the user configured. Rejects with the reason when it fails. */
  build(signal?: AbortSignal): Promise<void>;
  cancelBuild(): void;
  /** Stops everything in the sandbox and starts a new container. */
  restart(): Promise<void>;
  /** Called when `state()` changes; at most five times per second. */
  onChange(listener: () => void): () => void;
}

const shellId = "container";
/** Maximum number of commands that start at the same time. */
const startingAtOnce = 8;

/**
 * Runs commands on the user's own container engine (requirement T2): in a warm container per workspace, and in a new one for each command in
 * a task's view.
 */
export function createContainerShell(deps: ContainerDeps): ContainerShell {
  const image: SandboxState["image"] = { name: "", source: "shipped", state: "unknown", bytes: null, message: null };
  let packages: readonly string[] = [];
  const state = { building: null as AbortController | null, closed: false };
  const changes = createListeners();
  const starting = createLimit(startingAtOnce);
  const pool = createPool({ ...deps, usable, image: () => wanted().name, changed: changes.tell });
  const views = createViewLevel({ ...deps, pool, sandbox: shellId, writtenBytes: () => usable().workspace_bytes });

  function usable(): SandboxSettings {
    const { value: settings, problem } = deps.settings.read();
    if (problem !== null) throw unavailable(problem);
    return settings;
  }

  function showImage(next: Partial<SandboxState["image"]>): void {
    Object.assign(image, next);
    changes.tell();
  }

  function wanted(): WantedImage {
    const found = wantedImage({ image: usable().image, workspace: deps.workspace, configDir: deps.configDir, dataDir: deps.dataDir });
    if (found.name !== image.name)
      Object.assign(image, { name: found.name, source: found.source, state: "unknown", bytes: null, message: null });
    return found;
  }

  async function attempt(command: ShellCommand, cwd: string): Promise<ShellResult> {
    if (!command.network) return attemptWith(command, cwd, null);
    // Elsewhere, containers run in a virtual machine that host sockets do not reach.
    if (deps.egress === undefined || deps.platform !== "linux")
      throw unavailable("Commands with network access cannot run in a container on this system. Run the command without network access.");
    const grant = await deps.egress.grant(command.onConnection, command.hosts);
    try {
      return await attemptWith(command, cwd, grant);
    } finally {
      await grant.revoke();
    }
  }

  async function attemptWith(command: ShellCommand, cwd: string, grant: EgressGrant | null): Promise<ShellResult> {
    const { view } = command;
    if (view !== undefined)
      return views.run({ ...command, view }, grant?.socketPath ?? null, (warm, disk) =>
        runIn(warm, disk ?? view.folder, command, cwd, grant),
      );
    const kind = grant === null ? "plain" : "network";
    let warm: WarmContainer;
    try {
      warm = await raceWithStop(pool.acquire(kind, grant?.socketPath ?? null), command.signal);
    } catch (error) {
      if (error instanceof EngineSilent && !command.signal.aborted && pool.engine !== null) pool.lose(pool.engine);
      throw error;
    }
    try {
      return await runIn(warm, deps.workspace, command, cwd, grant);
    } catch (error) {
      if (error instanceof NotRunning) {
        pool.discard(kind, warm);
        if (error.cause instanceof EngineSilent) pool.lose(warm.engine);
      }
      throw error;
    } finally {
      pool.left(warm);
    }
  }

  /** @param written the folder in which the command's files count, or another disk */
  async function runIn(
    warm: WarmContainer,
    written: string | MeasuredDisk,
    command: ShellCommand,
    cwd: string,
    grant: EgressGrant | null,
  ): Promise<ShellResult> {
    if (state.building === null && image.state !== "ready") showImage({ state: "ready", message: null });
    if (grant !== null && !warm.forwards)
      throw unavailable(
        "The image has no socat, node or python3, so its commands cannot use the network. To build one that can, run Lancelot: Build Sandbox Image.",
      );
    const env = grant === null ? {} : proxyEnvironment(grant.proxyUrl(`127.0.0.1:${proxyPort}`));
    const { workspace_bytes: workspaceBytes } = usable();
    return runCommand(
      {
        ...{ warm, cwd, env, starting, workspaceBytes },
        watchGrowth(exceeded) {
          const count = countWritten(warm);
          return typeof written === "string"
            ? watchGrowth(written, workspaceBytes, exceeded, count)
            : watchDisk(written, workspaceBytes, exceeded, count);
        },
        // Elsewhere, containers run in a virtual machine.
        hasLocalProcesses: deps.platform === "linux" && !warm.engine.remote,
        settle: (host) => pool.settle(warm, host),
      },
      command,
    );
  }

  async function build(signal?: AbortSignal): Promise<void> {
    if (state.building !== null) throw new LancelotError("conflict", "The image is already being built.");
    const stop = new AbortController();
    state.building = stop;
    try {
      const target = wanted();
      showImage({ state: "building", message: null });
      const engine = await raceWithStop(pool.reach(), stop.signal);
      const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      await makeImage(engine, target, both, (message) => showImage({ message }));
      const made = await findImage(engine, target);
      if (made === null) throw unavailable("The engine reported a successful build, but the image does not exist.");
      showImage({ state: "ready", bytes: made.bytes, message: null });
      // Warm containers run the previous image.
      pool.retireAll();
    } catch (error) {
      showImage({ state: "failed", message: error instanceof LancelotError ? error.message : engineMessage(error) });
      throw asUnavailable(error);
    } finally {
      state.building = null;
      changes.tell();
    }
  }

  async function run(command: ShellCommand): Promise<ShellResult> {
    if (state.closed) throw unavailable("The sandbox is closed.");
    if (command.signal.aborted) return notBegun();
    const way = relative(deps.workspace, command.cwd);
    const isOutside = way === ".." || way.startsWith(`..${sep}`);
    // A view has its own layers.
    if (command.view === undefined && (isOutside || !statSync(command.cwd, { throwIfNoEntry: false })?.isDirectory()))
      throw new LancelotError("invalid_params", "The working folder of the command is not in the workspace.");
    const cwd = insidePath(command.cwd, deps.platform);
    try {
      return await attempt(command, cwd).catch((error: unknown) => {
        // The container was removed externally. The command has not started, so a new container can run it.
        if (error instanceof NotRunning) return attempt(command, cwd);
        throw error;
      });
    } catch (error) {
      if (command.signal.aborted && (error instanceof EngineSilent || error instanceof NotRunning)) return notBegun();
      throw asUnavailable(error);
    }
  }

  const health = (status: ProviderHealth["status"], message: string, nextStep: string | null): ProviderHealth => ({
    status,
    message,
    nextStep,
    checkedAt: new Date().toISOString(),
  });

  return {
    id: shellId,
    title: "Container",
    place: "container",
    version: () => (pool.engine === null ? null : `${pool.engine.name} ${pool.engine.version}`),
    containment: () => views.level,
    openView: async (task) => {
      try {
        return await views.open(task);
      } catch (error) {
        throw asUnavailable(error);
      }
    },

    async probe(signal) {
      try {
        usable();
        const engine = await raceWithStop(pool.reach(), signal);
        assertMountable(deps.workspace, deps.platform);
        const target = wanted();
        const found = await findImage(engine, target, signal);
        packages = found === null || found.outdated ? [] : (target.recipe?.packages ?? []);
        if (state.building === null && (found !== null || image.state !== "failed"))
          showImage({ state: found === null ? "missing" : "ready", bytes: found?.bytes ?? null, message: null });
        if (found === null)
          return health(
            "down",
            `The image ${image.name} does not exist, so commands cannot run in a container.`,
            "Run Lancelot: Build Sandbox Image, or set an existing image in config/sandbox.yaml.",
          );
        await views.check(engine, run, signal);
        // Only mounting shows whether a remote engine can access this workspace.
        if (engine.remote && views.level === "watched") await raceWithStop(pool.acquire("plain", null), signal);
        if (found.outdated)
          return health("degraded", "The Dockerfile has changed since the image was built.", "Run Lancelot: Build Sandbox Image.");
        if (engine.unenforced.length > 0)
          return health(
            "degraded",
            `The container engine cannot limit ${engine.unenforced.join(" and ")}.`,
            "Use an engine with cgroups: Docker, or Podman with cgroup v2.",
          );
        return health(
          views.level !== "watched" || engine.remote || deps.platform !== "linux" ? "ok" : "degraded",
          `Commands run in a container (${engine.name} ${engine.version}).${views.about()}`,
          null,
        );
      } catch (error) {
        const said = asUnavailable(error).message;
        return health("down", said, "Fix this, then run Lancelot: Restart Sandbox.");
      }
    },

    run,

    state() {
      const { engine } = pool;
      const { warm, starting: begins } = pool.shown();
      const { value: settings } = deps.settings.read();
      return {
        engine: engine === null ? null : { name: engine.name, version: engine.version, via: engine.via, remote: engine.remote },
        image: { ...image, name: image.name || settings.image },
        container: {
          state: warm !== null ? "running" : begins ? "starting" : "none",
          id: warm?.id.slice(0, 12) ?? null,
          since: warm === null ? null : new Date(warm.startedAt).toISOString(),
        },
        limits: {
          memoryBytes: settings.memory_bytes,
          cpus: settings.cpus,
          processes: settings.processes,
          timeoutMs: settings.timeout_seconds * 1000,
          outputBytes: settings.output_bytes,
        },
      };
    },

    packages: () => (image.state === "ready" ? packages : []),
    build,
    cancelBuild: () => state.building?.abort(),

    async restart() {
      await pool.removeAll();
      try {
        if (views.level === "copied") await pool.reach();
        else await pool.acquire("plain", null);
      } catch (error) {
        throw asUnavailable(error);
      }
    },

    onChange: changes.add,

    async close() {
      state.closed = true;
      state.building?.abort();
      await pool.close();
    },
  };
}

/** Stops waiting on cancellation, without cancelling work that other callers share. @throws EngineSilent */
async function raceWithStop<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return ask(() => work, 120_000, signal);
}

function asUnavailable(error: unknown): LancelotError {
  if (error instanceof LancelotError) return error;
  const cause = error instanceof NotRunning ? error.cause : error;
  return unavailable(`Commands cannot run in a container: ${engineMessage(cause)}`, error);
}

/** Limits concurrency to `most`; other calls wait in a queue. */
function createLimit(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}

/** Notifies at once, then at most every 200 ms, and always after the last change. */
function createListeners() {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let pending = false;
  const tell = () => {
    if (timer !== undefined) {
      pending = true;
      return;
    }
    for (const listener of listeners) listener();
    timer = setTimeout(() => {
      timer = undefined;
      if (!pending) return;
      pending = false;
      tell();
    }, 200);
    timer.unref();
  };
  return {
    tell,
    add: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
