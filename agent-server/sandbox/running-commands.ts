import { type GatedProcess, runGated } from "./gated-process.ts";
import type { ShellCommand, ShellResult } from "./shell-provider.ts";

/** The commands that run in a sandbox, so that closing it ends them. */
export interface RunningCommands {
  /** @throws LancelotError as `runGated` */
  run(command: ShellCommand, how: GatedProcess): Promise<ShellResult>;
  /** Stops all commands. Resolves when they have ended. */
  stop(): Promise<void>;
}

export function createRunningCommands(): RunningCommands {
  const running = new Set<{ stop: () => void; over: Promise<unknown> }>();
  return {
    async run(command, how) {
      const stop = new AbortController();
      const ending = runGated({ ...command, signal: AbortSignal.any([command.signal, stop.signal]) }, how);
      const entry = { stop: () => stop.abort(), over: ending.catch(() => {}) };
      running.add(entry);
      return await ending.finally(() => running.delete(entry));
    },
    async stop() {
      for (const { stop } of running) stop();
      await Promise.all([...running].map(({ over }) => over));
    },
  };
}
