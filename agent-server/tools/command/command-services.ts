import type { NetworkNeeds } from "../../governance/governance.ts";
import type { Redactor } from "../../security/security.ts";
import type { BackgroundCommands } from "./background-types.ts";
import { type RunOnProvider } from "../routing/provider-failover.ts";
import type { Router } from "../routing/capability-router.ts";

/** The services that run a command. */
export interface CommandServices {
  readonly router: Router;
  readonly runOnProvider: RunOnProvider;
  readonly redactor: Pick<Redactor, "text" | "inspect">;
  readonly limits: () => { readonly timeoutMs: number; readonly outputBytes: number };
  /** Makes the values of the workspace's secret files known to redaction, before output of a command that still runs is read. */
  readonly learnSecrets: () => Promise<void>;
  readonly background: BackgroundCommands;
  /** The sandbox in which every command of a quest runs now, because a background command keeps its view open; null without one. */
  readonly viewSandbox: (questId: string | null) => string | null;
  /** Why commands cannot run now; null when they can. */
  readonly problem: () => string | null;
  /** What the command needs of the network; null when nothing, or while the user's flag is off. */
  readonly network: (command: string, cwd: string) => NetworkNeeds | null;
  /** Why a command that failed may have needed the network; null where that is no reason. */
  readonly whyNoNetwork: (command: string, cwd: string) => string | null;
  /** True when the command runs tests, so that its result is shown with the changes that it saw. */
  readonly runsTests: (command: string, cwd: string) => boolean;
}
