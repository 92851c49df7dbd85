import type { Redactor } from "../../security/security.ts";
import { type Attempt } from "../routing/provider-failover.ts";
import type { Router } from "../routing/capability-router.ts";

/** What running a command needs of the tools room. */
export interface CommandRoom {
  readonly router: Router;
  readonly attempt: Attempt;
  readonly redactor: Pick<Redactor, "text">;
  readonly limits: () => { readonly timeoutMs: number; readonly outputBytes: number };
  /** Why no command may run now; null when they may. */
  readonly problem: () => string | null;
  /** True for a command that needs the network where the owner's flag lets commands have it. */
  readonly network: (command: string, cwd: string) => boolean;
}
