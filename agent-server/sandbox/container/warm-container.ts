import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import type Dockerode from "dockerode";
import * as z from "zod";
import type { SandboxLimits } from "../shell-provider.ts";
import { ask, EngineSilent, isId, statusOf, unavailable, engineMessage } from "./engine-call.ts";
import type { Engine } from "./container-engine.ts";
import { createSupervisor, type Supervisor } from "./container-supervisor.ts";
import type { MountPlan } from "./container-mounts.ts";
import { supervisor as supervisorUser } from "./container-scripts.ts";
import { containerSpec } from "./container-spec.ts";

/** A container that is ready for commands. */
export interface WarmContainer {
  readonly id: string;
  readonly engine: Engine;
  readonly supervisor: Supervisor;
  readonly startedAt: number;
  /** Fingerprint of the mounts it was started with. */
  readonly fingerprint: string;
  /** `bash`, or `sh` when the image has no bash. */
  readonly shell: string;
  /** The image has a program that can forward connections to the proxy's socket. */
  readonly forwards: boolean;
  /** `UID:GID` of commands. */
  readonly user: string;
  /** Markers of its running commands. */
  readonly active: Set<string>;
  /** Waits before a command starts, while all processes in the container are being killed. */
  enter(): Promise<void>;
  /** Runs work that affects all processes, when `mark` is the only command; otherwise null. No command starts in the meantime. */
  alone<T>(mark: string, work: () => Promise<T>): Promise<T | null>;
  /** Time of the engine's last out-of-memory event; ms of performance.now(). */
  readonly outOfMemoryAt: number;
  /** Removes the container. Never throws; false when the engine did not confirm the removal. */
  remove(): Promise<boolean>;
}

export interface WarmDeps {
  readonly engine: Engine;
  readonly image: string;
  readonly limits: SandboxLimits;
  readonly plan: MountPlan;
  readonly labels: Record<string, string>;
  readonly user: string;
  readonly platform: NodeJS.Platform;
  readonly egressSocket: string | null;
  /** Folder on this machine for mounts besides the workspace; created when missing. */
  readonly folder: string;
}

const startWithin = 20_000;
const Event = z.object({ Action: z.string().optional(), status: z.string().optional() });

/**
 * Creates and starts a container, and verifies that its mounts are this machine's files.
 * @throws LancelotError `unavailable`
 */
export async function startContainer(deps: WarmDeps, signal?: AbortSignal): Promise<WarmContainer> {
  const { engine } = deps;
  const nonce = randomBytes(16).toString("hex");
  mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
  const nonceFile = join(deps.folder, nonce);
  writeFileSync(nonceFile, `${nonce}\n`, { mode: 0o644 });
  let container: Dockerode.Container | null = null;
  let creating: Promise<unknown> | null = null;
  let supervisor: Supervisor | null = null;
  try {
    const spec = containerSpec({ ...deps, ...deps.plan, nonceFile: deps.plan.isCopy === true ? null : nonceFile });
    // A name chosen here finds the container even when the engine's response was lost.
    const name = `lancelot-${nonce}`;
    const created = engine.docker.getContainer(name);
    container = created;
    const made = engine.docker.createContainer({ ...spec, name });
    creating = made;
    const { id } = await ask(() => made, startWithin, signal);
    creating = null;
    if (!isId(id)) throw new EngineSilent("The container engine returned an invalid response.");
    const stream = await ask(
      () => created.attach({ stream: true, stdin: true, stdout: true, hijack: true }) as unknown as Promise<Duplex>,
      startWithin,
      signal,
    );
    supervisor = createSupervisor(stream);
    await ask((abortSignal) => created.start({ abortSignal }), startWithin, signal);
    const about = await supervisor.about();
    if (deps.plan.isCopy !== true && about.nonce !== nonce)
      throw unavailable(
        "The container engine mounts files of another machine, so commands cannot work on this workspace. Use an engine that runs here.",
      );
    if (!about.home)
      throw unavailable(`The folder /tmp of the image ${deps.image} is not writable. Set another image in config/sandbox.yaml (image).`);
    if (deps.platform === "linux") checkMounts(deps.plan, await supervisor.mounts());
    const warm = createWarm(deps, created, id, supervisor, about);
    watchEvents(engine.docker, id, warm);
    return warm.container;
  } catch (error) {
    supervisor?.close();
    if (container !== null) await removeContainer(container);
    // An engine that nobody waits for any more may still create it.
    const late = container;
    if (late !== null) creating?.then(() => removeContainer(late)).catch(() => undefined);
    throw refusal(deps, error);
  } finally {
    rmSync(nonceFile, { force: true });
  }
}

function createWarm(
  deps: WarmDeps,
  container: Dockerode.Container,
  id: string,
  supervisor: Supervisor,
  about: { shell: string; forwarder: boolean },
) {
  const state = { outOfMemoryAt: -1, gate: null as Promise<unknown> | null };
  const active = new Set<string>();
  const warm: WarmContainer = {
    id,
    engine: deps.engine,
    supervisor,
    startedAt: Date.now(),
    fingerprint: deps.plan.fingerprint,
    shell: about.shell,
    forwards: about.forwarder,
    user: deps.user,
    active,
    get outOfMemoryAt() {
      return state.outOfMemoryAt;
    },
    async enter() {
      while (state.gate !== null) await state.gate;
    },
    async alone(mark, work) {
      if (state.gate !== null || active.size > 1 || (active.size === 1 && !active.has(mark))) return null;
      const { promise, resolve } = Promise.withResolvers<void>();
      state.gate = promise;
      try {
        return await work();
      } finally {
        state.gate = null;
        resolve();
      }
    },
    async remove() {
      supervisor.close();
      return removeContainer(container);
    },
  };
  return { container: warm, outOfMemory: () => (state.outOfMemoryAt = performance.now()) };
}

/** Listens for out-of-memory events, which no other call reports. Without this connection, such an end is reported as a plain exit. */
function watchEvents(docker: Dockerode, id: string, warm: ReturnType<typeof createWarm>): void {
  const listen = async () => {
    const events = (await ask(() => docker.getEvents({ filters: { container: [id], event: ["oom"] } }))) as unknown as Duplex;
    events.on("error", () => {});
    events.on("data", (bytes: Buffer) => {
      for (const line of bytes.toString("utf8").split("\n")) {
        if (line.trim() === "") continue;
        const said = Event.safeParse(jsonOf(line));
        if (said.success && (said.data.Action ?? said.data.status) === "oom") warm.outOfMemory();
      }
    });
    await warm.container.supervisor.over;
    events.destroy();
  };
  listen().catch(() => {});
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @returns whether the engine confirms the removal */
export async function removeContainer(container: Dockerode.Container): Promise<boolean> {
  try {
    await ask((abortSignal) => container.remove({ force: true, v: true, abortSignal } as Dockerode.ContainerRemoveOptions), 4_000);
    return true;
  } catch (error) {
    // 404: it no longer exists. 409: the engine is already removing it.
    return statusOf(error) === 404 || statusOf(error) === 409;
  }
}

/**
 * A command could replace a protected file with a link between the check and the mount. Therefore every mount must be at its original
 * location: below the workspace's own mount, under the requested name.
 */
function checkMounts(plan: MountPlan, lines: readonly string[]): void {
  const mounted = new Map<string, { device: string; root: string }>();
  for (const line of lines) {
    const [, , device, root, target] = line.split(" ");
    if (device !== undefined && root !== undefined && target !== undefined) mounted.set(plain(target), { device, root: plain(root) });
  }
  for (const { target } of plan.bound) {
    const found = mounted.get(target);
    if (found === undefined) throw unavailable("The container engine did not mount the whole workspace. Try again.");
    const above = plan.bound.filter((other) => other.target !== target && target.startsWith(`${other.target}/`)).at(0);
    const base = above === undefined ? undefined : mounted.get(above.target);
    if (above === undefined || base === undefined || base.device !== found.device) continue;
    const expected = `${base.root === "/" ? "" : base.root}${target.slice(above.target.length)}`;
    if (found.root !== expected)
      throw unavailable("A protected file of the workspace was replaced while the container started. Run the command again.");
  }
  for (const { source, target } of plan.masks)
    if (mounted.get(target)?.root.endsWith(join("/", basename(dirname(source)), basename(source))) !== true)
      throw unavailable("A secret file of the workspace was replaced while the container started. Run the command again.");
}

/** Decodes mountinfo, which writes spaces, tabs, newlines and backslashes as three octal digits. */
const plain = (text: string): string =>
  text.replace(/\\(\d{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

function refusal(deps: WarmDeps, error: unknown): unknown {
  if (!(error instanceof EngineSilent) && statusOf(error) === null) return error;
  const said = engineMessage(error);
  if (statusOf(error) === 404 && /no such image|image not known|not found/i.test(said))
    return unavailable(
      `The image ${deps.image} does not exist. Run Lancelot: Build Sandbox Image, or set another image in config/sandbox.yaml (image).`,
      error,
    );
  if (/bind source path does not exist|statfs .*no such file/i.test(said))
    return unavailable(
      "The container engine cannot access this workspace: it runs on another machine, or its settings do not share this folder. Use an engine that runs here, or share the folder with it.",
      error,
    );
  if (/exec: "?\/bin\/sh|"\/bin\/sh": stat|\/bin\/sh: no such file/i.test(said))
    return unavailable(`The image ${deps.image} has no /bin/sh. Set another image in config/sandbox.yaml (image).`, error);
  return unavailable(`The container could not be started (${said}). Run Lancelot: Restart Sandbox, or check the engine.`, error);
}

/** Processes of commands: all except the container's own. */
export const commandsOwn = (processes: Awaited<ReturnType<Supervisor["processes"]>>) =>
  processes.filter((process) => process.pid !== 1 && process.uid !== supervisorUser && !process.over);
