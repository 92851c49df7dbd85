import { createHash } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type Dockerode from "dockerode";
import { limitsOf, type SandboxSettings } from "../sandbox-settings.ts";
import { cleanupStandIns, makeMaskFile, makeMaskFolder } from "../secret-masks.ts";
import type { ContainerDeps } from "./container-deps.ts";
import { ask, callWithin, EngineSilent, statusOf, unavailable } from "./engine-call.ts";
import { connectEngine, type Engine } from "./container-engine.ts";
import { labels, removeOrphanedContainers, workName } from "./orphaned-containers.ts";
import { assertMountable, linkedRepository, type MountPlan, planMounts } from "./container-mounts.ts";
import type { HostTermination } from "./host-termination.ts";
import { createWorkFolders, emptyByEngine, type WorkFolders } from "./work-folders.ts";
import { removeContainer, startContainer, type WarmContainer } from "./warm-container.ts";

/** Commands with network access have their own container, so that other commands cannot reach the proxy. */
export type Kind = "plain" | "network";

export interface PoolDeps extends ContainerDeps {
  /** @throws LancelotError `unavailable` while the user's file is invalid */
  readonly usable: () => SandboxSettings;
  /** Name of the image. @throws LancelotError `unavailable` */
  readonly image: () => string;
  readonly changed: () => void;
}

export interface TaskContainers {
  readonly image: string;
  readonly labels: Record<string, string>;
  /** `UID:GID` of commands. */
  readonly user: string;
  /** Names the task in the engine. */
  readonly id: string;
}

/** The engine, one warm container of each kind, and one for each command that runs in a task's view. */
export interface Pool {
  readonly engine: Engine | null;
  /** An engine that just responded; searches again when it no longer responds. @throws LancelotError `unavailable` */
  reach(): Promise<Engine>;
  /** Discards an engine that no longer responds, with its containers. */
  lose(engine: Engine): void;
  /**
   * A container with the current mounts, limits and image: the warm one, or a new one.
   * @param egressSocket the proxy's socket, for containers of the kind `network`. @throws LancelotError `unavailable`
   */
  acquire(kind: Kind, egressSocket: string | null): Promise<WarmContainer>;
  /**
   * A new container for one command in a task's view: a mount that stays would not show what the user changes meanwhile.
   * @throws LancelotError `unavailable`
   */
  startInView(plan: MountPlan, folder: string, egressSocket: string | null, signal: AbortSignal): Promise<WarmContainer>;
  /**
   * Removes containers that still show the files of a task, by its folder: those of a host that ended a moment ago.
   * @throws LancelotError `unavailable`
   */
  freeTask(folder: string): Promise<Engine>;
  /** How tasks are named in the engine. */
  readonly tasks: { readonly data: string; readonly nameOf: (folder: string) => string };
  /** What every container for a task has, by the task's folder. @throws LancelotError `unavailable` */
  ofTask(folder: string, engine: Engine): TaskContainers;
  /** Removes such a container once its command has ended, and waits until its mounts are gone. Never throws. */
  endInView(warm: WarmContainer): Promise<void>;
  /** Folder on this machine for mounts besides the workspace. */
  readonly folder: string;
  readonly workFolders: WorkFolders;
  /** Call this when a command in the container has ended. */
  left(warm: WarmContainer): void;
  /** Resolves when a command whose engine failed has ended: killed from here, or with its container, which its engine no longer has. */
  settle(warm: WarmContainer, host: HostTermination): Promise<void>;
  /** Stops using the container for new commands. */
  discard(kind: Kind, warm: WarmContainer): void;
  /** Stops using the warm containers for new commands; running commands continue. */
  retireAll(): void;
  removeAll(): Promise<void>;
  shown(): { readonly warm: WarmContainer | null; readonly starting: boolean };
  close(): Promise<void>;
}

/** Pause (ms) between two attempts to end what a failed engine left running. */
const settleEvery = 1_000;
/** Timeout for a container to disappear with its mounts, ms. A slow disk delays them. */
const goneWithin = 20_000;

export function createPool(deps: PoolDeps): Pool {
  const folder = join(deps.dataDir, "sandbox");
  const { answerMs = callWithin } = deps;
  const data = short(deps.dataDir);
  const ownLabels = { [labels.data]: data, [labels.host]: deps.hostId, [labels.workspace]: short(deps.workspace) };
  const containers = new Map<Kind, WarmContainer>();
  const starting = new Map<Kind, { readonly fingerprint: string; readonly begun: Promise<WarmContainer> }>();
  const ownFolder = join(folder, deps.hostId);
  /** Containers that were retired while commands still run in them. */
  const retired = new Set<WarmContainer>();
  /** Containers of commands in views. */
  const inViews = new Set<WarmContainer>();
  const state = { engine: null as Engine | null, connecting: null as Promise<Engine> | null, closed: false };

  const workFolders = createWorkFolders(join(ownFolder, workName), async (left) => {
    if (state.engine !== null) await emptyByEngine(state.engine, deps.image(), left, ownLabels);
  });
  const all = (): WarmContainer[] => [...containers.values(), ...retired, ...inViews];

  async function connect(): Promise<Engine> {
    const engine = await connectEngine({ answerMs, env: deps.env, home: deps.home, platform: deps.platform, owners: deps.usable().engine });
    state.engine = engine;
    const mine = new Set(all().map(({ id }) => id));
    const empty = (left: string) => emptyByEngine(engine, deps.image(), left, ownLabels);
    await removeOrphanedContainers({ engine, hostId: deps.hostId, data, hostAlive: deps.hostAlive, mine, folder, empty });
    deps.changed();
    return engine;
  }

  function known(): Promise<Engine> {
    if (state.engine !== null && !state.engine.gone) return Promise.resolve(state.engine);
    state.connecting ??= connect().finally(() => {
      state.connecting = null;
    });
    return state.connecting;
  }

  async function reach(): Promise<Engine> {
    const engine = await known();
    try {
      await ask(() => engine.docker.ping() as unknown as Promise<unknown>, answerMs);
      return engine;
    } catch {
      lose(engine);
      return known();
    }
  }

  const userOf = (engine: Engine): string => (engine.rootless ? "0:0" : ownerOf(deps.workspace, deps.platform));

  async function startOn(
    engine: Engine,
    plan: MountPlan,
    egressSocket: string | null,
    more: { readonly task?: string; readonly signal?: AbortSignal } = {},
  ): Promise<WarmContainer> {
    const warm = await startContainer(
      {
        engine,
        image: deps.image(),
        limits: limitsOf(deps.usable()),
        plan,
        labels: { ...ownLabels, ...(more.task === undefined ? {} : { [labels.task]: more.task }) },
        user: userOf(engine),
        platform: deps.platform,
        egressSocket,
        folder: ownFolder,
      },
      more.signal,
    );
    if (!state.closed) return warm;
    await warm.remove();
    throw unavailable("The sandbox is closed.");
  }

  async function start(kind: Kind, plan: MountPlan, egressSocket: string | null): Promise<WarmContainer> {
    const warm = await startOn(await reach(), plan, egressSocket);
    containers.set(kind, warm);
    void warm.supervisor.over.then(() => {
      if (containers.get(kind) === warm) containers.delete(kind);
      deps.changed();
    });
    return warm;
  }

  async function acquire(kind: Kind, egressSocket: string | null): Promise<WarmContainer> {
    // Before the search for secret files, which would take long on a whole disk.
    assertMountable(deps.workspace, deps.platform);
    const repository = linkedRepository(deps.workspace);
    const masked = await deps.masked(repository === null ? [] : [repository]);
    mkdirSync(ownFolder, { recursive: true, mode: 0o700 });
    const settings = deps.usable();
    const removeStandIns = cleanupStandIns(masked);
    const plan = planMounts({
      workspace: deps.workspace,
      protectedPaths: deps.protectedPaths(),
      hidden: [deps.dataDir],
      masked,
      maskOf: (path) => makeMaskFile(ownFolder, path),
      maskFolder: makeMaskFolder(ownFolder),
      platform: deps.platform,
    });
    const wanted = [plan.fingerprint, settings, deps.image(), egressSocket === null ? null : identity(egressSocket)];
    const fingerprint = short(JSON.stringify(wanted));
    const warm = containers.get(kind);
    if (warm !== undefined && warm.supervisor.alive && warm.fingerprint === fingerprint) return warm;
    if (warm !== undefined) retire(kind, warm);
    const earlier = starting.get(kind);
    if (earlier !== undefined) {
      const started = await earlier.begun;
      // Its mounts were planned before this command, and something changed since.
      return earlier.fingerprint === fingerprint ? started : acquire(kind, egressSocket);
    }
    const begun = start(kind, { ...plan, fingerprint }, egressSocket).finally(() => {
      starting.delete(kind);
      removeStandIns();
    });
    starting.set(kind, { fingerprint, begun });
    deps.changed();
    return begun;
  }

  function retire(kind: Kind, warm: WarmContainer): void {
    if (containers.get(kind) === warm) containers.delete(kind);
    if (warm.active.size === 0) void warm.remove();
    else retired.add(warm);
  }

  function forgetAll(): void {
    for (const known of [containers, retired, inViews]) known.clear();
  }

  async function removeAll(): Promise<void> {
    const removed = all();
    forgetAll();
    await Promise.all(removed.map((warm) => warm.remove()));
    deps.changed();
  }

  function lose(engine: Engine): void {
    if (state.engine !== engine) return;
    state.engine = null;
    for (const warm of all()) warm.supervisor.close();
    forgetAll();
    engine.close();
    deps.changed();
  }

  return {
    get engine() {
      return state.engine;
    },
    reach,
    lose,
    acquire,
    async settle(warm, host) {
      if (containers.get("plain") === warm) containers.delete("plain");
      if (containers.get("network") === warm) containers.delete("network");
      for (;;) {
        await pause(settleEvery, undefined, { ref: false });
        // The next host recovers the command.
        if (state.closed) return new Promise<never>(() => undefined);
        if (await host.kill()) return;
        const engine = await reach().catch(() => null);
        // Another engine does not know the container.
        if (engine?.via === warm.engine.via && (await removeContainer(engine.docker.getContainer(warm.id)))) return;
      }
    },
    folder: ownFolder,
    workFolders,
    async freeTask(task) {
      const engine = await reach();
      const filters = { label: [`${labels.task}=${short(task)}`] };
      const left = await ask((abortSignal) => engine.docker.listContainers({ all: true, filters, abortSignal }));
      await Promise.all(left.map(({ Id }) => removeWholly(engine.docker.getContainer(Id))));
      return engine;
    },
    tasks: { data, nameOf: short },
    ofTask: (task, engine) => ({
      image: deps.image(),
      labels: { ...ownLabels, [labels.task]: short(task) },
      user: userOf(engine),
      id: `${data}-${short(task)}`,
    }),
    async startInView(plan, task, egressSocket, signal) {
      const { engine } = state;
      if (engine === null) throw new EngineSilent("The container engine is not connected.");
      const warm = await startOn(engine, plan, egressSocket, { task: short(task), signal });
      inViews.add(warm);
      return warm;
    },
    async endInView(warm) {
      inViews.delete(warm);
      warm.supervisor.close();
      await removeWholly(warm.engine.docker.getContainer(warm.id));
    },
    left(warm) {
      if (warm.active.size === 0 && retired.delete(warm)) void warm.remove();
    },
    discard(kind, warm) {
      if (containers.get(kind) === warm) containers.delete(kind);
      void warm.remove();
    },
    retireAll() {
      for (const [kind, warm] of containers) retire(kind, warm);
    },
    removeAll,
    shown: () => ({ warm: containers.get("plain") ?? containers.get("network") ?? null, starting: starting.size > 0 }),
    async close() {
      state.closed = true;
      await Promise.allSettled([...starting.values()].map(({ begun }) => begun));
      await removeAll();
      await workFolders.close();
      state.engine?.close();
      state.engine = null;
    },
  };
}

/**
 * Removes a container and waits until the engine no longer knows it: before that, its mounts may remain, also where the engine confirms
 * that another removal began. Gives up on an engine that does not respond; no process uses the mounts then.
 */
async function removeWholly(container: Dockerode.Container): Promise<void> {
  let isBegun = false;
  for (const end = performance.now() + goneWithin; performance.now() < end; await pause(10)) {
    isBegun ||= await removeContainer(container);
    const found = await ask((abortSignal) => container.inspect({ abortSignal })).catch(statusOf);
    // Null: the engine did not respond.
    if (found === 404 || found === null) return;
  }
}

/** Changes when the proxy's socket was replaced. */
function identity(socket: string): string {
  const stats = statSync(socket, { bigint: true });
  return `${stats.dev}:${stats.ino}`;
}

/**
 * User id of commands: the workspace's owner, so that new files belong to the same user. That is root when root owns the workspace; but
 * root inside has no capabilities, cannot gain any, and owns no other mounted file.
 */
function ownerOf(workspace: string, platform: NodeJS.Platform): string {
  if (platform === "win32") return "1000:1000";
  const { uid, gid } = statSync(workspace);
  return `${uid}:${gid}`;
}

const short = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
