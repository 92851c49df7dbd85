import type { Attempt, AttemptCall, Attempted } from "../routing/provider-failover.ts";
import type { ShellCommand, ShellResult } from "../../sandbox/sandbox.ts";

/**
 * Runs a command in the first place that can begin it, and never a second time. A command that network is asked for goes to places that
 * have it. What came of it, `lost` included, is the result.
 * @throws LancelotError as `Attempt`.
 */
export function runInShell(
  attempt: Attempt,
  command: Omit<ShellCommand, "onStarted" | "signal"> & { readonly onStarted?: () => void },
  call: AttemptCall,
): Promise<Attempted<ShellResult>> {
  const profile = { unattended: false, ...call.profile, network: command.network };
  return attempt("shell_exec", "run", { ...call, profile }, async (run, { provider, signal, begin, failed }) => {
    const result = await run({
      ...command,
      signal,
      onStarted: () => {
        begin();
        command.onStarted?.();
      },
    });
    if (result.ended === "lost") failed(`${provider.title} went away while a command ran.`);
    return result;
  });
}
