import type { ActionContext } from "../contract/action.ts";
import type { Approval, Decision } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Question } from "../governance/governance.ts";
import type { FileOutcome, Touch, Touched } from "../workspace/workspace.ts";
import type { VerifyOwn } from "./verifications.ts";

/**
 * One step of an action; governance judges each step alone. For a file, `path` is the requested path (policy judges its name)
 * and `absolute` is the resolved path, which is the one that is used.
 */
export interface IntentSpec {
  readonly capability: string;
  readonly action: string;
  readonly args: Record<string, unknown>;
  /** The folder a command runs in; absolute. */
  readonly cwd?: string;
}

export interface Provider {
  readonly name: string;
  readonly version: string;
}

export interface Result<T> {
  readonly value: T;
  readonly outputs: Record<string, unknown>;
  /** Why the action failed although nothing was thrown. */
  readonly failure?: string;
  /** Set when a watched command may still run: its changes are recorded when this resolves. */
  readonly stillRunning?: Promise<void>;
  /** Touched files that were left in another state than planned, for a valid reason. */
  readonly fileOutcomes?: readonly FileOutcome[];
}

/** How the caller learns what the pipeline does. */
export interface ActionObserver {
  readonly onWaiting?: (approval: Approval) => void;
  readonly onDecided?: (decisions: readonly Decision[], approvalId: string | null) => void;
  readonly onReceipt?: (receiptId: string) => void;
  /** The changes that a watched action made, also after it failed or was stopped. */
  readonly onTouched?: (touched: Touched) => void;
}

/** What the pipeline is asked to do. */
export interface Action<T> extends ActionContext, ActionObserver {
  readonly actionType: ActionType;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  /** `review`: the user has just decided exactly this. Governance does not ask again, but it can still deny. */
  readonly consent: "ask" | "review";
  /** Files that may change. */
  readonly touches: readonly Touch[];
  /** The files that may change are not known in advance: the whole workspace is compared before and after. `touches` is then empty. */
  readonly watch?: "workspace";
  /** Protected files (relative to the workspace) named in the question: a watched action may change these. */
  readonly approvedPaths?: readonly string[];
  readonly provider: Provider;
  /** Why that provider was chosen, for the receipt. */
  readonly route?: Record<string, unknown>;
  readonly run: (context: { receiptId: string; checkpointId: string | null }) => Promise<Result<T>>;
  /** The provider's own verification, in addition to that of the files. */
  readonly verify?: VerifyOwn;
  /** The caller holds the locks of the touched files. */
  readonly locksHeld?: boolean;
  /** The action undoes an effect that failed its verification: it waits for no verification, and is not undone itself. */
  readonly isRollback?: boolean;
  /** The next host completes the action if this one dies: every touch has its planned image. */
  readonly isResumable?: boolean;
}
