import type { Log } from "../../security/security.ts";
import type { EgressProxy } from "./egress.ts";
import { createBubblewrapShell } from "./os/bubblewrap.ts";
import type { SandboxLimits, ShellProvider } from "./shell.ts";

export interface OsShellDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Hidden from commands; the sandbox keeps a few small files in its folder `sandbox`. */
  readonly dataDir: string;
  readonly limits: () => SandboxLimits;
  /** What a command may read but not write, absolute or relative to the workspace; asked before each command. */
  readonly protectedPaths: () => readonly string[];
  /** More folders a command may read: toolchains in the home folder, say. */
  readonly readable?: () => readonly string[];
  /** The way to the network; null where there is none. */
  readonly egress: EgressProxy | null;
  readonly log: Log;
  /** The owner's environment, of which a few words about language and the PATH are taken. */
  readonly env?: NodeJS.ProcessEnv;
  /** Another `bwrap` or `sandbox-exec`. */
  readonly program?: string;
}

/**
 * Commands in the sandbox of the operating system: bubblewrap on Linux, Seatbelt on macOS (requirement T2). Elsewhere it is there
 * and says that it is down.
 */
export function createOsShell(deps: OsShellDeps): ShellProvider {
  return createBubblewrapShell(deps);
}
