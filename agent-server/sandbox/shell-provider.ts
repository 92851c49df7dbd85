import type { CommandPlace, ProviderHealth } from "../contract/providers.ts";
import type { EgressConnection } from "./egress.ts";

/** A command line to run where it can do no harm. Judged, approved and written down before it comes here. */
export interface ShellCommand {
  /** For `bash -c`; `sh -c` where there is no bash. */
  readonly command: string;
  /** Absolute and resolved; the workspace or a folder in it. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Bytes of both streams that are handed on; what comes after is counted and thrown away. */
  readonly outputBytes: number;
  /** Through the egress proxy, which lets hosts of the network policy pass; no network at all when false. */
  readonly network: boolean;
  /** Told of each connection that was tried, when it is over. */
  readonly onConnection?: (connection: EgressConnection) => void;
  readonly signal: AbortSignal;
  /** Bytes as they come, in the order they came. */
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
  /** Called once, before the first byte of the command is run: from here on it must never be run again by somebody else. */
  readonly onStarted: () => void;
}

export interface ShellResult {
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  /** `memory`: ended for using more than it may. `lost`: what ran it went away; what it did is not known. */
  readonly ended: "exit" | "timeout" | "stopped" | "memory" | "lost";
  /** Bytes of both streams, those thrown away included. */
  readonly outputBytes: number;
  readonly durationMs: number;
  /** It left processes behind, which were ended. */
  readonly leftovers: boolean;
}

/** One place to run commands in (requirement T2). */
export interface ShellProvider {
  /** `container`, `bubblewrap`, `seatbelt`, `host`. */
  readonly id: string;
  readonly title: string;
  readonly place: CommandPlace;
  /** Known once it was looked at. */
  version(): string | null;
  /** Looks now, for at most a few seconds. Never throws. */
  probe(signal?: AbortSignal): Promise<ProviderHealth>;
  /**
   * Runs it to its end: nothing it started is left when this returns, whatever way it ends. stdin is closed.
   * @throws LancelotError `unavailable` before `onStarted` when it cannot be run here: then another place may be tried.
   */
  run(command: ShellCommand): Promise<ShellResult>;
  /** Ends what runs and takes down what it keeps warm; what it left on the machine goes at the latest with the next start. */
  close(): Promise<void>;
}

/** What a place may use. From `config/sandbox.yaml`, the owner's laid over the shipped one. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly processes: number;
  /** Size of /tmp and of the home folder in it, bytes. */
  readonly scratchBytes: number;
  /** Bytes a command may add to the workspace before it is ended. */
  readonly workspaceBytes: number;
}
