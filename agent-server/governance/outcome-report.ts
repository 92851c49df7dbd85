import type { Decision, Intent } from "../contract/governance.ts";

/** One thing that was judged, and by which leave it was done. */
export interface OutcomeStep {
  /** As it was done: paths resolved. */
  readonly intent: Intent;
  readonly decision: Decision;
  /** The owner's answer that gave leave; null when none was needed. */
  readonly approvalId: string | null;
}

/**
 * What came of something that was judged, for trust, learning and statistics. Told once when it is known whether it was done;
 * a reversible action whose verification fails later is told a second time, as a failure with `verification` set.
 */
export interface OutcomeReport {
  /** The receipt of the action; of the refusal where it was refused. */
  readonly receiptId: string;
  readonly questId: string | null;
  /** Never empty. Of a refusal: what was asked up to and with the step that was refused. */
  readonly steps: readonly OutcomeStep[];
  /**
   * `refused`: the gate or the owner said no, or nobody answered. `failure`: it was done and did not work, or what it left is
   * not what it was to leave. What was stopped by the owner is not told.
   */
  readonly result: "success" | "failure" | "refused";
  /** Set when this is the result of a verification that ran after the receipt was closed. */
  readonly verification?: true;
}

/** Actions whose effect was taken back by restoring checkpoints. */
export interface RolledBackReport {
  /** The receipts of the actions, not those of the restore. */
  readonly receiptIds: readonly string[];
  readonly questId: string | null;
}
