import type { Duplex } from "node:stream";
import type { CommandPlace, Containment, ProviderHealth } from "../contract/providers.ts";
import type { OverlayLayer, OverlayView } from "../workspace/workspace.ts";
import type { EgressConnection } from "./egress.ts";

/** A TCP port on which a command listens. A port of family 6 takes no connections over IPv4. */
export interface ListeningPort {
  readonly port: number;
  readonly family: 4 | 6;
}

/** A running command in the background. */
export interface BackgroundProcess {
  /**
   * Stops all its processes for a moment, so that none changes a file meanwhile. A command that cannot be stopped is ended.
   * @returns lets them continue
   */
  pause(): Promise<() => void>;
  ports(): ListeningPort[];
  /** Connects a client to one of its ports, until either side closes. */
  forward(port: ListeningPort, client: Duplex): void;
}

/** A command line to run in a sandbox. It was authorized and recorded before. */
export interface ShellCommand {
  /** Run with `bash -c`, or `sh -c` when there is no bash. */
  readonly command: string;
  /** Absolute and resolved: the workspace or one of its folders. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Maximum bytes of both streams to pass on; the rest is counted and discarded. */
  readonly outputBytes: number;
  /** Network access through the egress proxy, limited to hosts of the network policy; none when false. */
  readonly network: boolean;
  /** The only hosts that it may reach; the network policy's allowlist if absent. */
  readonly hosts?: readonly string[];
  /** Called after each connection attempt has ended. */
  readonly onConnection?: (connection: EgressConnection) => void;
  /** The task's view, opened by this sandbox: the command sees and changes it in place of the workspace. */
  readonly view?: OverlayView;
  /**
   * The command runs beside the later ones of its view, which it requires. They share its network unless they have access to another. Called
   * once it has started.
   */
  readonly onBackground?: (process: BackgroundProcess) => void;
  /** Output that is read per second; a command that prints more waits. Unlimited if absent. */
  readonly bytesPerSecond?: number;
  readonly signal: AbortSignal;
  /** Receives bytes in the order they arrive. */
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
  /** Called once, before the command starts. From then on, no other sandbox may run it again. */
  readonly onStarted: () => void;
}

export interface ShellResult {
  /** Null when the command did not exit by itself. */
  readonly exitCode: number | null;
  /** `memory`: killed for exceeding the memory limit. `lost`: the sandbox disappeared, and the command's effects are unknown. */
  readonly ended: "exit" | "timeout" | "stopped" | "memory" | "lost";
  /** Bytes of both streams, including discarded ones. */
  readonly outputBytes: number;
  readonly durationMs: number;
  /** True when remaining processes had to be killed. */
  readonly killedOrphans: boolean;
  /**
   * Set when processes of the command may still run, because nobody could confirm their end. Resolves when they have ended; never, when
   * this host ends before.
   */
  readonly stillRunning?: Promise<void>;
}

/** A sandbox for commands (requirement T2). */
export interface ShellProvider {
  /** `container`, `bubblewrap`, `seatbelt`, `host`. */
  readonly id: string;
  readonly title: string;
  readonly place: CommandPlace;
  /** Null before the first probe. */
  version(): string | null;
  /** The level of containment in effect, found by a real try with the last probe; the weaker one before. */
  containment(): Containment;
  /** True where commands can run in the background (`onBackground`). */
  readonly hasBackground?: boolean;
  /** Checks the current health, within a few seconds. Never throws. */
  probe(signal?: AbortSignal): Promise<ProviderHealth>;
  /**
   * Opens a copy-on-write view for the commands of one task, with what the task wrote so far in `folder`. Absent where this sandbox has none.
   * @throws LancelotError `unavailable` where the system does not support it.
   */
  openView?(task: { readonly folder: string; readonly layers: readonly OverlayLayer[] }): Promise<OverlayView>;
  /**
   * Runs a command to its end: when this returns without `stillRunning`, none of its processes remain. stdin is closed.
   * @throws LancelotError `unavailable` before `onStarted` when the command cannot run here; the caller may then try another sandbox.
   */
  run(command: ShellCommand): Promise<ShellResult>;
  /** Stops running commands and removes warm resources. The next start removes anything that remains. */
  close(): Promise<void>;
}

/** A sandbox's health as of now. */
export function healthNow(status: ProviderHealth["status"], message: string, nextStep: string | null): ProviderHealth {
  return { status, message, nextStep, checkedAt: new Date().toISOString() };
}

/** Limits of a sandbox, from `config/sandbox.yaml` with the user's settings merged over the shipped ones. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly processes: number;
  /** Size of /tmp, which contains the home folder, in bytes. */
  readonly scratchBytes: number;
  /** Bytes a command may add to the workspace before it is stopped. */
  readonly workspaceBytes: number;
}
