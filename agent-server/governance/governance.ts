import type { Approval, ApprovalDecision, ApprovalStatus, Decision, Intent, Posture } from "../contract/governance.ts";
import type { ResolvedPath } from "./policy/paths.ts";

/** What an approval card shows. */
export interface Question {
  /** One line: what will happen, on what. */
  title: string;
  /** The exact command, diff or arguments. */
  detail: string;
}

/** Leave to do one exact thing: the intent with this hash, once. */
export interface Authorization {
  readonly decision: Decision;
  readonly intentHash: string;
  readonly approvalId: string | null;
}

/** The one gate (governance.md). Everything that has an effect asks it first. */
export interface Governance {
  /** The decision alone: pure, no question asked. */
  evaluate(intent: Intent): Decision;
  /**
   * Decides, and where the verdict is `ask` waits for the owner.
   * @throws LancelotError `denied` (policy, or the owner's no; data: the decision and the reason), `needs_approval`
   *   (nobody can be asked, or the time is over), `cancelled` (signal). A gate that fails denies.
   */
  authorize(
    intent: Intent,
    question: Question,
    context: { questId: string | null; parentId: string | null; signal: AbortSignal; onWaiting?: (approval: Approval) => void },
  ): Promise<Authorization>;
  /**
   * Checks, at the last moment, that what is about to be done is what was authorized, and uses the authorization up.
   * @throws LancelotError `denied` when the intent's hash differs or it was used.
   */
  redeem(authorization: Authorization, intent: Intent): void;
  /** Resolves a path as the system would and judges it; the result is the only path a tool may use. */
  resolvePath(path: string): ResolvedPath;
  posture(): Posture;
  setPosture(posture: Posture): void;
  setApprovalTimeout(seconds: number): void;
  /** False while nobody can answer (headless without a terminal): then `ask` is refused at once, never waited for. */
  setCanAsk(canAsk: boolean): void;
  approvals: {
    list(filter: { status?: ApprovalStatus; questId?: string; limit: number }): Approval[];
    get(id: string): Approval | null;
    /** @throws LancelotError `not_found`, or `conflict` when it was answered or has expired. */
    decide(id: string, decision: ApprovalDecision, reason?: string): Approval;
    /** Ends the open questions of a quest that stopped. */
    cancelQuest(questId: string): void;
  };
}
