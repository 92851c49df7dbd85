import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import type { EgressProxy } from "./egress.ts";
import { createBubblewrapShell } from "./os/bubblewrap.ts";
import { createSeatbeltShell } from "./os/seatbelt.ts";
import type { SandboxLimits, ShellProvider } from "./shell-provider.ts";

export interface OsShellDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Hidden from commands; the sandbox keeps a few small files in its folder `sandbox`. */
  readonly dataDir: string;
  readonly limits: () => SandboxLimits;
  /** Why no command may run: the owner's limits cannot be read. Null when they may; always unless given. */
  readonly problem?: () => string | null;
  /** What a command may read but not write, absolute or relative to the workspace; asked before each command. */
  readonly protectedPaths: () => readonly string[];
  /** More folders a command may read: toolchains in the home folder, say. */
  readonly readable?: () => readonly string[];
  /** Words of the environment that say where those are. */
  readonly toolchains?: () => Readonly<Record<string, string>>;
  /** The way to the network; null where there is none. */
  readonly egress: EgressProxy | null;
  readonly log: Log;
  /** The owner's environment, of which a few words about language and the PATH are taken. */
  readonly env?: NodeJS.ProcessEnv;
  /** Another `bwrap` or `sandbox-exec`. */
  readonly program?: string;
  readonly platform?: NodeJS.Platform;
}

/**
 * Commands in the sandbox of the operating system: bubblewrap on Linux, Seatbelt on macOS (requirement T2). Elsewhere it is there
 * and says that it is down.
 */
export function createOsShell(deps: OsShellDeps): ShellProvider {
  const platform = deps.platform ?? process.platform;
  if (platform === "linux") return withinLimits(createBubblewrapShell(deps), deps);
  if (platform === "darwin") return withinLimits(createSeatbeltShell(deps), deps);
  const message = "This system has no sandbox of its own for commands.";
  const nextStep = platform === "win32" ? "Use a container engine, or open the folder in WSL." : "Use a container engine.";
  return {
    id: "os_sandbox",
    title: "Sandbox of the operating system",
    place: "os_sandbox",
    version: () => null,
    probe: () => Promise.resolve({ status: "down", message, nextStep, checkedAt: new Date().toISOString() }),
    run: () => Promise.reject(new LancelotError("unavailable", `${message} ${nextStep}`)),
    close: () => Promise.resolve(),
  };
}

/** While the owner's limits cannot be read, nothing is run: they may be narrower than those that ship. */
function withinLimits(shell: ShellProvider, { problem = () => null }: OsShellDeps): ShellProvider {
  return {
    ...shell,
    probe(signal) {
      const message = problem();
      if (message === null) return shell.probe(signal);
      return Promise.resolve({ status: "down", message, nextStep: null, checkedAt: new Date().toISOString() });
    },
    run(command) {
      const message = problem();
      return message === null ? shell.run(command) : Promise.reject(new LancelotError("unavailable", message));
    },
  };
}
