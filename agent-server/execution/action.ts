import type { ActionContext } from "../contract/action.ts";
import type { Approval, Decision } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Question } from "../governance/governance.ts";
import type { BackgroundProgram, FileOutcome, OpenView, OverlayView, TaskOutcome, Touch, Touched } from "../workspace/workspace.ts";
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
  /** Set when an action in a view keeps running in the background. */
  readonly background?: {
    readonly program: BackgroundProgram;
    /** Called at its end with what it left since; null when that could not be determined. */
    readonly onEnd: (outcome: TaskOutcome | null) => void;
  };
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
  /** What an action in a task's view left, also after it failed or was stopped. */
  readonly onTaskOutcome?: (outcome: TaskOutcome) => void;
}

/** An action that works in a copy-on-write view of its task: what it writes is proposed, and the workspace stays as it is. */
export interface InView {
  readonly openView: OpenView;
  /** The command, for the review of what it writes. */
  readonly origin: string;
  /** Whether the action runs tests, so that its result counts for the changes that it saw. */
  readonly runsTests: boolean;
}

/** What the effect of an action may use. */
export interface RunContext {
  readonly receiptId: string;
  readonly checkpointId: string | null;
  /** For an action in a view. */
  readonly view?: OverlayView;
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
  /** In place of `watch`: the action works in a view of its task. `touches` is then empty. */
  readonly inView?: InView;
  /** Protected files (relative to the workspace) named in the question: a watched action may change these. */
  readonly approvedPaths?: readonly string[];
  readonly provider: Provider;
  /** Why that provider was chosen, for the receipt. */
  readonly route?: Record<string, unknown>;
  readonly run: (context: RunContext) => Promise<Result<T>>;
  /** The provider's own verification, in addition to that of the files. */
  readonly verify?: VerifyOwn;
  /** The caller holds the locks of the touched files. */
  readonly locksHeld?: boolean;
  /** The action undoes an effect that failed its verification: it waits for no verification, and is not undone itself. */
  readonly isRollback?: boolean;
  /** The next host completes the action if this one dies: every touch has its planned image. */
  readonly isResumable?: boolean;
}
