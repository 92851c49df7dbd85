import type { Decision, Intent } from "../contract/governance.ts";

/** One authorized action and the approval that granted it. */
export interface OutcomeStep {
  /** As executed, with resolved paths. */
  readonly intent: Intent;
  readonly decision: Decision;
  /** The owner's approval; null when none was needed. */
  readonly approvalId: string | null;
}

/**
 * The outcome of an evaluated action, for trust, learning and statistics. Reported once when the action ends; a reversible action
 * whose verification fails later is reported again, as a failure with `verification` set.
 */
export interface OutcomeReport {
  /** The receipt of the action, or of its denial. */
  readonly receiptId: string;
  readonly questId: string | null;
  /** Never empty. For a denial: the steps up to and including the denied one. */
  readonly steps: readonly OutcomeStep[];
  /**
   * `refused`: denied by the gate or the owner, or nobody answered. `failure`: the action failed, or its result did not verify.
   * An action that the owner canceled is not reported.
   */
  readonly result: "success" | "failure" | "refused";
  /** Set when a verification that ran after the receipt was closed produced this result. */
  readonly verification?: true;
}

/** Actions whose effects the owner rolled back by restoring checkpoints. */
export interface RolledBackReport {
  /** The receipts of the actions, not of the restore. */
  readonly receiptIds: readonly string[];
  readonly questId: string | null;
}
