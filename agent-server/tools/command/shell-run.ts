import type { RunOnProvider, ProviderCall, ProviderResult } from "../routing/provider-failover.ts";
import type { ShellCommand, ShellResult } from "../../sandbox/sandbox.ts";

/**
 * Runs a command once, on the first provider that can start it. Commands that need the network run only where it is available.
 * Every end of the command is a result, including `lost`.
 * @throws LancelotError as `RunOnProvider`.
 */
export function runInShell(
  runOnProvider: RunOnProvider,
  command: Omit<ShellCommand, "onStarted" | "signal"> & { readonly onStarted?: () => void },
  call: ProviderCall,
): Promise<ProviderResult<ShellResult>> {
  const profile = { unattended: false, ...call.profile, network: command.network };
  return runOnProvider("shell_exec", "run", { ...call, profile }, async (run, { provider, signal, begin, failed }) => {
    const result = await run({
      ...command,
      signal,
      onStarted: () => {
        begin();
        command.onStarted?.();
      },
    });
    if (result.ended === "lost") failed(`${provider.title} stopped while a command was running.`);
    return result;
  });
}
