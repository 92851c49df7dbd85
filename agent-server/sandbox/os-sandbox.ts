import type { OsShellDeps } from "./os/os-shell-deps.ts";
import { LancelotError } from "../contract/errors.ts";
import { createBubblewrapShell } from "./os/bubblewrap.ts";
import { createSeatbeltShell } from "./os/seatbelt.ts";
import { healthNow, type ShellProvider } from "./shell-provider.ts";

/**
 * Runs commands in the operating system's sandbox: bubblewrap on Linux, Seatbelt on macOS (requirement T2). On other systems, the provider
 * reports that it is down.
 */
export function createOsShell(deps: OsShellDeps): ShellProvider {
  const platform = deps.platform ?? process.platform;
  if (platform === "linux") return withinLimits(createBubblewrapShell(deps), deps);
  if (platform === "darwin") return withinLimits(createSeatbeltShell(deps), deps);
  const message = "This operating system has no sandbox for commands.";
  const nextStep = platform === "win32" ? "Use a container engine, or open the folder in WSL." : "Use a container engine.";
  return {
    id: "os_sandbox",
    title: "OS sandbox",
    place: "os_sandbox",
    version: () => null,
    containment: () => "watched",
    probe: () => Promise.resolve(healthNow("down", message, nextStep)),
    run: () => Promise.reject(new LancelotError("unavailable", `${message} ${nextStep}`)),
    close: () => Promise.resolve(),
  };
}

/** Refuses commands while the user's limits cannot be read, because they may be stricter than the shipped ones. */
function withinLimits(shell: ShellProvider, { problem = () => null }: OsShellDeps): ShellProvider {
  return {
    ...shell,
    probe(signal) {
      const message = problem();
      if (message === null) return shell.probe(signal);
      return Promise.resolve(healthNow("down", message, null));
    },
    run(command) {
      const message = problem();
      return message === null ? shell.run(command) : Promise.reject(new LancelotError("unavailable", message));
    },
  };
}
