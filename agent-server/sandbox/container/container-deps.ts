import type { Log } from "../../security/security.ts";
import type { EgressProxy } from "../egress.ts";
import type { ConfigFile } from "../../storage/storage.ts";
import type { FindMasked } from "../secret-masks.ts";
import type { SandboxSettings } from "../sandbox-settings.ts";

export interface ContainerDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly dataDir: string;
  /** The shipped configuration; null when there is none. */
  readonly configDir: string | null;
  readonly hostId: string;
  readonly hostAlive: (hostId: string) => boolean;
  /** Paths relative to the workspace that commands may read but not write. Called before every command. */
  readonly protectedPaths: () => readonly string[];
  readonly masked: FindMasked;
  /** The user's environment, which names the engine. Commands receive none of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly settings: ConfigFile<SandboxSettings>;
  /** Network access for commands that may use it. */
  readonly egress?: Pick<EgressProxy, "grant">;
  /** Timeout (ms) for an engine to answer who it is and whether it is there. */
  readonly answerMs?: number;
  readonly log: Log;
}
