import type { Log } from "../../security/security.ts";
import type { EgressProxy } from "../egress.ts";
import type { SandboxSettingsRead } from "../sandbox-settings.ts";

export interface ContainerDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly dataDir: string;
  /** The shipped configuration; null where there is none. */
  readonly configDir: string | null;
  readonly hostId: string;
  readonly hostAlive: (hostId: string) => boolean;
  /** What commands may read but not write, relative to the workspace. Asked at every command. */
  readonly protectedPaths: () => readonly string[];
  /** Of the owner: where the engine is named. Nothing of it reaches a command. */
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly settings: () => SandboxSettingsRead;
  /** The way to the network of commands that may use it. */
  readonly egress?: Pick<EgressProxy, "grant">;
  readonly log: Log;
}
