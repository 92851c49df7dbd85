import type { Log } from "../../security/security.ts";
import type { EgressProxy } from "../egress.ts";
import type { FindMasked } from "../secret-masks.ts";
import type { SandboxLimits } from "../shell-provider.ts";

export interface OsShellDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Hidden from commands. The sandbox stores a few small files in its folder `sandbox`. */
  readonly dataDir: string;
  readonly limits: () => SandboxLimits;
  /** Why no command may run: the user's limits cannot be read. Null, or not given, when commands may run. */
  readonly problem?: () => string | null;
  /** Paths that commands may read but not write, absolute or relative to the workspace; called before each command. */
  readonly protectedPaths: () => readonly string[];
  readonly masked: FindMasked;
  /** Additional folders that commands may read, such as toolchains in the home folder. */
  readonly readable?: () => readonly string[];
  /** Environment variables with the location of those folders. */
  readonly toolchains?: () => Readonly<Record<string, string>>;
  /** Network access; null when there is none. */
  readonly egress: EgressProxy | null;
  readonly log: Log;
  /** The user's environment, of which only the PATH and language settings are used. */
  readonly env?: NodeJS.ProcessEnv;
  /** Alternative path of `bwrap` or `sandbox-exec`. */
  readonly program?: string;
  readonly platform?: NodeJS.Platform;
}
