import type { Redactor } from "../../security/security.ts";
import { type RunOnProvider } from "../routing/provider-failover.ts";
import type { Router } from "../routing/capability-router.ts";

/** The services that run a command. */
export interface CommandServices {
  readonly router: Router;
  readonly runOnProvider: RunOnProvider;
  readonly redactor: Pick<Redactor, "text" | "inspect">;
  readonly limits: () => { readonly timeoutMs: number; readonly outputBytes: number };
  /** Makes the values of the workspace's secret files known to redaction. Call it before a command runs. */
  readonly learnSecrets: () => Promise<void>;
  /** Why commands cannot run now; null when they can. */
  readonly problem: () => string | null;
  /** True when the command needs the network and the user's flag allows it. */
  readonly network: (command: string, cwd: string) => boolean;
  /** True when the command runs tests, so that its result is shown with the changes that it saw. */
  readonly runsTests: (command: string, cwd: string) => boolean;
}
