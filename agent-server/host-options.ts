import type { AskEditor } from "./contract/editor.ts";
import type { Emit } from "./contract/events.ts";
import type { Posture } from "./contract/governance.ts";
import type { ProductPaths } from "./paths.ts";
import type { KnownSecrets } from "./security/security.ts";

export interface HostOptions {
  paths: ProductPaths;
  /** Absolute path of the workspace; null without one. */
  workspace: string | null;
  dataDir: string;
  /** False keeps Lancelot from writing anything in the workspace. */
  trusted: boolean;
  posture: Posture;
  approvalTimeoutSeconds: number;
  /** Flags from the editor's settings. */
  features?: Readonly<Record<string, boolean>>;
  /** How many tasks may run at a time. Default: 4. */
  maxRunningTasks?: number;
  /** False when nobody can answer a question. */
  canAsk: boolean;
  askEditor: AskEditor | null;
  env: NodeJS.ProcessEnv;
  emit: Emit;
  lastEventSeq(): number;
  /** The values of secret files, which the caller also removes from its log. */
  known?: KnownSecrets;
  log(message: string, error?: unknown): void;
}
