import type { Change } from "../contract/changes.ts";
import type { Message, Outcome as ReportedOutcome, UnbackedClaim } from "../contract/chat.ts";

/** What an answer is compared with. */
export interface AnswerEvidence {
  readonly questId: string;
  /** All messages of the task, in order. */
  readonly messages: readonly Message[];
  /** The proposed changes of the task with their decisions. */
  readonly changes: readonly Change[];
}

/** An action that the model reports in a structured answer. */
export interface ReportedAction {
  readonly action: string;
  readonly target?: string | undefined;
}

/** Compares what an answer says with what is recorded. */
export interface ClaimCheck {
  /** The statements about work done that nothing recorded backs (requirement A8). Empty while the flag is off. */
  unbacked(answer: string, evidence: AnswerEvidence): UnbackedClaim[];
  /** The announcement of work that an answer ends with; null without one, and while the flag is off. */
  announcement(answer: string): string | null;
  /** Compares reported actions one to one with the receipts of the task. */
  outcome(actions: readonly ReportedAction[], evidence: AnswerEvidence): ReportedOutcome["actions"];
}
