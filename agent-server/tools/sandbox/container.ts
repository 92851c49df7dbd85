import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { ProviderHealth, SandboxState } from "../../contract/providers.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Log } from "../../security/security.ts";
import { ask, EngineSilent, unavailable, wordsOf } from "./container/call.ts";
import { notBegun, NotRunning, runCommand } from "./container/command.ts";
import { connectEngine, type Engine } from "./container/engine.ts";
import { findImage, makeImage, type WantedImage, wantedImage } from "./container/image.ts";
import { labels, removeLeftovers } from "./container/leftovers.ts";
import { insidePath, type MountPlan, planMounts } from "./container/mounts.ts";
import { proxyPort } from "./container/scripts.ts";
import { startContainer, type WarmContainer } from "./container/warm.ts";
import type { EgressGrant, EgressProxy } from "./egress.ts";
import { proxyEnvironment } from "./environment.ts";
import { limitsOf, type SandboxSettingsRead } from "./settings.ts";
import type { ShellCommand, ShellProvider, ShellResult } from "./shell.ts";

export interface ContainerDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly dataDir: string;
  /** The shipped configuration; null where there is none. */
  readonly configDir: string | null;
  readonly hostId: string;
  readonly hostAlive: (hostId: string) => boolean;
  /** What commands may read but not write, relative to the workspace. Asked at every command. */
  readonly protectedPaths: () => readonly string[];
  /** Of the owner: where the engine is named. Nothing of it reaches a command. */
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly settings: () => SandboxSettingsRead;
  /** The way to the network of commands that may use it. */
  readonly egress?: Pick<EgressProxy, "grant">;
  readonly log: Log;
}

/** The container sandbox: a place for commands, with what the panel shows of it. */
export interface ContainerShell extends ShellProvider {
  state(): Pick<SandboxState, "engine" | "image" | "container" | "limits">;
  /** Builds the image, or fetches the one the owner named. Rejects with why not. */
  build(signal?: AbortSignal): Promise<void>;
  cancelBuild(): void;
  /** Ends what runs in the sandbox and starts it anew. */
  restart(): Promise<void>;
  /** Called when `state()` says something else; at most five times a second. */
  onChange(listener: () => void): () => void;
}

type Kind = "plain" | "network";
/** Commands that are started at the same time. */
const startingAtOnce = 8;

/** Runs commands in a container that stays warm for the workspace, on the owner's own container engine (requirement T2). */
export function createContainerShell(deps: ContainerDeps): ContainerShell {
  const folder = join(deps.dataDir, "sandbox");
  const data = short(deps.dataDir);
  const image: SandboxState["image"] = { name: "", source: "shipped", state: "unknown", bytes: null, message: null };
  const state = {
    engine: null as Engine | null,
    connecting: null as Promise<Engine> | null,
    image,
    containers: new Map<Kind, WarmContainer>(),
    starting: new Map<Kind, Promise<WarmContainer>>(),
    /** Taken out of use, with commands still in them. */
    retired: new Set<WarmContainer>(),
    building: null as AbortController | null,
    closed: false,
  };
  const changes = createListeners();
  const starting = createLimit(startingAtOnce);

  function usable(): ReturnType<ContainerDeps["settings"]>["settings"] {
    const { settings, problem } = deps.settings();
    if (problem !== null) throw unavailable(problem);
    return settings;
  }

  /** The engine that was reached, or one that is looked for now. */
  async function reach(signal?: AbortSignal): Promise<Engine> {
    if (state.engine !== null && !state.engine.gone) return state.engine;
    state.connecting ??= connectEngine({ env: deps.env, home: deps.home, platform: deps.platform, owners: usable().engine }, signal)
      .then(async (engine) => {
        state.engine = engine;
        const mine = new Set([...state.containers.values(), ...state.retired].map(({ id }) => id));
        await removeLeftovers({ engine, hostId: deps.hostId, data, hostAlive: deps.hostAlive, mine, folder }, signal);
        changes.tell();
        return engine;
      })
      .finally(() => {
        state.connecting = null;
      });
    return state.connecting;
  }

  /** Forgets an engine that does not answer any more, with what ran on it. */
  function lose(engine: Engine): void {
    if (state.engine !== engine) return;
    state.engine = null;
    for (const [kind, warm] of state.containers) {
      warm.keeper.close();
      state.containers.delete(kind);
    }
    engine.close();
    changes.tell();
  }

  function showImage(next: Partial<SandboxState["image"]>): void {
    Object.assign(state.image, next);
    changes.tell();
  }

  function wanted(): WantedImage {
    const found = wantedImage({ image: usable().image, workspace: deps.workspace, configDir: deps.configDir, dataDir: deps.dataDir });
    if (found.name !== state.image.name)
      Object.assign(state.image, { name: found.name, source: found.source, state: "unknown", bytes: null, message: null });
    return found;
  }

  async function lookForImage(engine: Engine, signal?: AbortSignal): Promise<{ outdated: boolean } | null> {
    const found = await findImage(engine, wanted(), signal);
    if (state.building === null && (found !== null || state.image.state !== "failed"))
      showImage({ state: found === null ? "missing" : "ready", bytes: found?.bytes ?? null, message: null });
    return found;
  }

  /** Starts none where there is a warm one with the mounts that are wanted now. */
  async function acquire(kind: Kind, grant: EgressGrant | null, signal?: AbortSignal): Promise<WarmContainer> {
    const settings = usable();
    const plan = planMounts({
      workspace: deps.workspace,
      protectedPaths: deps.protectedPaths(),
      hidden: [deps.dataDir],
      platform: deps.platform,
    });
    const fingerprint = short(JSON.stringify([plan.fingerprint, settings, grant === null ? null : socketIdentity(grant)]));
    const warm = state.containers.get(kind);
    if (warm !== undefined && warm.keeper.alive && warm.fingerprint === fingerprint) return warm;
    if (warm !== undefined) retire(kind, warm);
    const begun =
      state.starting.get(kind) ?? start(kind, { ...plan, fingerprint }, grant, signal).finally(() => state.starting.delete(kind));
    state.starting.set(kind, begun);
    changes.tell();
    return begun;
  }

  async function start(kind: Kind, plan: MountPlan, grant: EgressGrant | null, signal?: AbortSignal): Promise<WarmContainer> {
    const engine = await reach(signal);
    if (engine.remote)
      throw unavailable(
        `The container engine (${engine.via}) runs on another machine, where this workspace is not. Use an engine that runs here, or open the workspace there.`,
      );
    const { name } = wanted();
    const warm = await startContainer(
      {
        engine,
        image: name,
        limits: limitsOf(usable()),
        plan,
        labels: { [labels.data]: data, [labels.host]: deps.hostId, [labels.workspace]: short(deps.workspace) },
        user: engine.rootless ? "0:0" : ownerOf(deps.workspace, deps.platform),
        platform: deps.platform,
        egressSocket: grant?.socketPath ?? null,
        folder: join(folder, deps.hostId),
      },
      signal,
    );
    if (state.closed) {
      await warm.remove();
      throw unavailable("The sandbox is closed.");
    }
    state.containers.set(kind, warm);
    if (state.building === null) showImage({ state: "ready" });
    void warm.keeper.over.then(() => {
      if (state.containers.get(kind) === warm) state.containers.delete(kind);
      changes.tell();
    });
    return warm;
  }

  /** Commands in it go on; nothing new is started in it, and it goes with the last of them. */
  function retire(kind: Kind, warm: WarmContainer): void {
    if (state.containers.get(kind) === warm) state.containers.delete(kind);
    if (warm.active.size === 0) void warm.remove();
    else state.retired.add(warm);
  }

  function left(warm: WarmContainer): void {
    if (warm.active.size > 0 || !state.retired.delete(warm)) return;
    void warm.remove();
  }

  function socketIdentity({ socketPath }: EgressGrant): string {
    const stats = statSync(socketPath, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) throw unavailable("The proxy for commands that may use the network is not running.");
    return `${stats.dev}:${stats.ino}`;
  }

  /** Leave for one command to use the network, until it is over. */
  async function leave(): Promise<EgressGrant> {
    if (deps.egress === undefined || deps.platform !== "linux")
      throw unavailable("Commands in the container cannot use the network here: a command that needs it cannot be run in it.");
    return deps.egress.grant();
  }

  async function attempt(command: ShellCommand, cwd: string): Promise<ShellResult> {
    const grant = command.network ? await leave() : null;
    try {
      return await attemptWith(command, cwd, grant);
    } finally {
      await grant?.revoke();
    }
  }

  async function attemptWith(command: ShellCommand, cwd: string, grant: EgressGrant | null): Promise<ShellResult> {
    const kind: Kind = command.network ? "network" : "plain";
    let warm: WarmContainer;
    try {
      warm = await acquire(kind, grant, command.signal);
    } catch (error) {
      if (error instanceof EngineSilent && state.engine !== null) lose(state.engine);
      throw error;
    }
    if (command.network && !warm.forwards)
      throw unavailable(
        "The image has no socat, node or python3, so commands in it cannot use the network. Build image brings one that does.",
      );
    try {
      return await runCommand(
        {
          warm,
          cwd,
          workspace: deps.workspace,
          workspaceBytes: limitsOf(usable()).workspaceBytes,
          env: grant === null ? {} : proxyEnvironment(grant.proxyUrl(`127.0.0.1:${proxyPort}`)),
          starting,
        },
        command,
      );
    } catch (error) {
      if (error instanceof NotRunning) {
        if (state.containers.get(kind) === warm) state.containers.delete(kind);
        void warm.remove();
        if (error.cause instanceof EngineSilent) lose(warm.engine);
      }
      throw error;
    } finally {
      left(warm);
    }
  }

  async function build(signal?: AbortSignal): Promise<void> {
    if (state.building !== null) throw new LancelotError("conflict", "The image is being built already.");
    const stop = new AbortController();
    state.building = stop;
    try {
      const target = wanted();
      showImage({ state: "building", message: null });
      const engine = await reach(stop.signal);
      const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      await makeImage(engine, target, both, (message) => showImage({ message }));
      const made = await findImage(engine, target);
      if (made === null) throw unavailable("The engine said that the image was built, but does not have it.");
      showImage({ state: "ready", bytes: made.bytes, message: null });
      // What is warm runs the image before.
      for (const [kind, warm] of state.containers) retire(kind, warm);
    } catch (error) {
      showImage({ state: "failed", message: error instanceof LancelotError ? error.message : wordsOf(error) });
      throw asUnavailable(error);
    } finally {
      state.building = null;
      changes.tell();
    }
  }

  async function removeAll(): Promise<void> {
    const all = [...state.containers.values(), ...state.retired];
    state.containers.clear();
    state.retired.clear();
    await Promise.all(all.map((warm) => warm.remove()));
    changes.tell();
  }

  const health = (status: ProviderHealth["status"], message: string, nextStep: string | null): ProviderHealth => ({
    status,
    message,
    nextStep,
    checkedAt: new Date().toISOString(),
  });

  return {
    id: "container",
    title: "Container",
    place: "container",
    version: () => (state.engine === null ? null : `${state.engine.name} ${state.engine.version}`),

    async probe(signal) {
      try {
        usable();
        let engine = await reach(signal);
        try {
          const reached = engine;
          await ask(() => reached.docker.ping() as unknown as Promise<unknown>, 3_000, signal);
        } catch (error) {
          if (signal?.aborted) throw error;
          lose(engine);
          engine = await reach(signal);
        }
        if (engine.remote)
          throw unavailable(
            `The container engine (${engine.via}) runs on another machine, where this workspace is not. Use one that runs here.`,
          );
        planMounts({ workspace: deps.workspace, protectedPaths: [], hidden: [], platform: deps.platform });
        const found = await lookForImage(engine, signal);
        if (found === null)
          return health(
            "down",
            `The image ${state.image.name} is not there, so commands cannot be run in a container.`,
            "Choose Build image, or name an image you have in config/sandbox.yaml.",
          );
        if (found.outdated)
          return health("degraded", "The image was built from another Dockerfile than the one there is now.", "Choose Build image.");
        if (engine.unenforced.length > 0)
          return health(
            "degraded",
            `The container engine cannot limit ${engine.unenforced.join(" and ")} of commands.`,
            "Use an engine with cgroups for it: Docker, or Podman with cgroup v2.",
          );
        return health("ok", `Commands run in a container (${engine.name} ${engine.version}).`, null);
      } catch (error) {
        const said = asUnavailable(error).message;
        return health("down", said, "Correct that, then choose Doctor or Restart.");
      }
    },

    async run(command) {
      if (state.closed) throw unavailable("The sandbox is closed.");
      if (command.signal.aborted) return notBegun();
      const way = relative(deps.workspace, command.cwd);
      if (way === ".." || way.startsWith(`..${sep}`) || !statSync(command.cwd, { throwIfNoEntry: false })?.isDirectory())
        throw new LancelotError("invalid_params", "The folder of the command is not a folder of the workspace.");
      const cwd = insidePath(command.cwd, deps.platform);
      try {
        return await attempt(command, cwd).catch((error: unknown) => {
          // It was there a moment ago: somebody removed it. Nothing was begun, so a new one takes the command.
          if (error instanceof NotRunning) return attempt(command, cwd);
          throw error;
        });
      } catch (error) {
        if (command.signal.aborted && (error instanceof EngineSilent || error instanceof NotRunning)) return notBegun();
        throw asUnavailable(error);
      }
    },

    state() {
      const warm = state.containers.get("plain") ?? state.containers.get("network");
      const settings = deps.settings().settings;
      return {
        engine:
          state.engine === null
            ? null
            : { name: state.engine.name, version: state.engine.version, via: state.engine.via, remote: state.engine.remote },
        image: { ...state.image, name: state.image.name || settings.image },
        container: {
          state: warm !== undefined ? "running" : state.starting.size > 0 ? "starting" : "none",
          id: warm?.id.slice(0, 12) ?? null,
          since: warm === undefined ? null : new Date(warm.startedAt).toISOString(),
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

    build,
    cancelBuild: () => state.building?.abort(),

    async restart() {
      await removeAll();
      try {
        await acquire("plain", null);
      } catch (error) {
        throw asUnavailable(error);
      }
    },

    onChange: changes.add,

    async close() {
      state.closed = true;
      state.building?.abort();
      await Promise.allSettled(state.starting.values());
      await removeAll();
      state.engine?.close();
      state.engine = null;
    },
  };
}

/**
 * Whom commands run as: whom the workspace belongs to, so that what they write belongs to the owner too. That is root where the
 * workspace is root's; root inside has no capability, can gain none, and owns nothing that is mounted but the workspace.
 */
function ownerOf(workspace: string, platform: NodeJS.Platform): string {
  if (platform === "win32") return "1000:1000";
  const { uid, gid } = statSync(workspace);
  return `${uid}:${gid}`;
}

const short = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

function asUnavailable(error: unknown): LancelotError {
  if (error instanceof LancelotError) return error;
  const cause = error instanceof NotRunning ? error.cause : error;
  return unavailable(`Commands cannot be run in a container now: ${wordsOf(cause)}`, error);
}

/** Runs at most `most` at once; the others wait their turn. */
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

/** Tells at once, then not again for a fifth of a second, and never forgets to tell of the last change. */
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
