import type { BackgroundCommand } from "../../contract/background.ts";
import type { EgressConnection, ShellCommand, ShellResult } from "../../sandbox/sandbox.ts";
import type { Redactor } from "../../security/security.ts";
import type { BackgroundProgram, TaskOutcome } from "../../workspace/workspace.ts";
import type { ProviderResult } from "../routing/provider-failover.ts";
import type { CommandOutput } from "./command-output.ts";

/** Who stops a command. */
export type StoppedBy = "model" | "user" | "task" | "host";

/** The part of a shell command that this module decides. */
export type BackgroundHooks = Pick<
  ShellCommand,
  "onOutput" | "onConnection" | "onBackground" | "bytesPerSecond" | "outputBytes" | "signal"
>;

export interface BackgroundRequest {
  readonly questId: string | null;
  readonly callId: string | null;
  readonly receiptId: string;
  /** The command line, redacted. */
  readonly text: string;
  readonly redactor: Pick<Redactor, "text" | "inspect">;
  /** How long (ms) to wait for its first output. */
  readonly waitMs: number;
  /** Stops the command while its start is waited for. */
  readonly signal: AbortSignal;
  /** Output until the start is over; later output is sent as events. */
  readonly onText: (piece: { offset: number; text: string }) => void;
  readonly run: (hooks: BackgroundHooks) => Promise<ProviderResult<ShellResult>>;
}

/** The start of a command: it runs, or has ended already. */
export interface BackgroundStart {
  readonly output: CommandOutput;
  readonly connections: readonly EgressConnection[];
  /** Null while it runs. */
  readonly done: ProviderResult<ShellResult> | null;
  /** While it runs. */
  readonly running: {
    readonly id: string;
    readonly ports: readonly number[];
    readonly program: BackgroundProgram;
    readonly onEnd: (outcome: TaskOutcome | null) => void;
  } | null;
}

/** What a command printed since it was read last. */
export interface BackgroundReading {
  readonly command: BackgroundCommand;
  readonly text: string;
  /** UTF-16 units between the last reading and the text, which are no longer kept. */
  readonly dropped: number;
}

/** That a command ended without the model's doing, for the model. */
export interface BackgroundEnd {
  readonly id: string;
  /** How it ended. */
  readonly state: string;
  /** Its last lines: plain, redacted and bounded; empty when it printed nothing. */
  readonly output: string;
}

/** The commands that run in the background of their tasks. */
export interface BackgroundCommands {
  /**
   * Starts a command and waits until it listens on a port, is quiet, or has ended.
   * @throws LancelotError `conflict` when too many run; of the run when it did not start; `cancelled`.
   */
  start(request: BackgroundRequest): Promise<BackgroundStart>;
  /** Reads new output, and waits for some. @throws LancelotError `not_found`. */
  read(of: { id: string; questId: string | null; waitMs: number; signal: AbortSignal }): Promise<BackgroundReading>;
  list(questId?: string): BackgroundCommand[];
  /** The ends that the model of a task does not know of; each is returned once, and not at all if the model read it. */
  takeEnds(questId: string): BackgroundEnd[];
  /** Resolves when it has ended and its end is recorded. @throws LancelotError `not_found`. */
  stop(id: string, by: StoppedBy): Promise<BackgroundCommand>;
  /** Opens one of its ports on the loopback interface, as the user asked. @throws LancelotError `not_found`, `unavailable`, `denied`. */
  preview(id: string, port: number): Promise<{ url: string }>;
  /** Stops all. */
  close(): Promise<void>;
}
