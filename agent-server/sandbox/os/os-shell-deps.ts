import type { Log } from "../../security/security.ts";
import type { EgressProxy } from "../egress.ts";
import type { SandboxLimits } from "../shell-provider.ts";

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
