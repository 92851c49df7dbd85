import * as z from "zod";
import { Intent, Decision } from "../contract/governance.ts";
import type { Storage } from "../storage/storage.ts";
import { Expectation } from "./verify-files.ts";

/** One action whose effect is to be verified after its receipt was closed. */
export interface Verification {
  readonly receiptId: string;
  readonly questId: string | null;
  readonly checkpointId: string | null;
  /** The tool, as the receipt names it. */
  readonly name: string;
  readonly expectations: readonly Expectation[];
  /** Reported to governance when the verification fails; arguments redacted. */
  readonly steps: readonly { readonly intent: Intent; readonly decision: Decision; readonly approvalId: string | null }[];
  /** The provider has its own verification, which cannot run after its host died. */
  readonly own: boolean;
}

/** The result of a verification that the model must be informed of. */
export type FindingStatus = "changed" | "failed" | "unverified";

/** A finding that the model of a quest was not informed of yet. */
export interface UnreportedFailure {
  readonly receiptId: string;
  readonly questId: string;
  readonly status: FindingStatus;
  readonly message: string;
}

const Job = z.object({
  name: z.string(),
  expectations: z.array(Expectation),
  steps: z.array(z.object({ intent: Intent, decision: Decision, approvalId: z.string().nullable() })),
  own: z.boolean(),
});

interface Row {
  receipt_id: string;
  quest_id: string | null;
  host_id: string;
  checkpoint_id: string | null;
  status: "waiting" | FindingStatus;
  job: string;
  words: string;
}

/** Rows of one workspace. A successful verification leaves no row, because its receipt records it. */
export interface VerificationStore {
  add(verification: Verification): void;
  /** Takes over the pending verifications of hosts that died. */
  adopt(): Verification[];
  markVerified(receiptId: string): void;
  markFinding(receiptId: string, status: FindingStatus, message: string): void;
  /** Findings that no model was informed of yet, oldest first, without those that another live host will report. */
  unreported(): UnreportedFailure[];
  /** True when the caller may report the finding: only one host reports it. */
  claimReport(receiptId: string): boolean;
  failed(): number;
}

export function createVerificationStore(storage: Storage, workspace: string, now: () => Date): VerificationStore {
  const { db } = storage;
  const insert = db.prepare(
    `INSERT INTO verifications (receipt_id, workspace, quest_id, host_id, checkpoint_id, status, job, created_at)
     VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?)`,
  );
  const waiting = db.prepare("SELECT * FROM verifications WHERE workspace = ? AND status = 'waiting' ORDER BY rowid");
  const take = db.prepare("UPDATE verifications SET host_id = ? WHERE receipt_id = ? AND host_id = ? AND status = 'waiting'");
  const remove = db.prepare("DELETE FROM verifications WHERE receipt_id = ?");
  const end = db.prepare("UPDATE verifications SET status = ?, words = ?, told = ? WHERE receipt_id = ?");
  const selectUnreported = db.prepare(
    "SELECT * FROM verifications WHERE workspace = ? AND status <> 'waiting' AND told = 0 AND quest_id IS NOT NULL ORDER BY rowid",
  );
  const markReported = db.prepare("UPDATE verifications SET told = 1 WHERE receipt_id = ? AND told = 0");
  const count = db.prepare("SELECT count(*) AS failed FROM verifications WHERE workspace = ? AND status = 'failed'");

  return {
    add({ receiptId, questId, checkpointId, ...job }) {
      insert.run(receiptId, workspace, questId, storage.hostId, checkpointId, JSON.stringify(job), now().toISOString());
    },
    adopt: () =>
      storage.transaction(() =>
        (waiting.all(workspace) as Row[]).flatMap((row): Verification[] => {
          if (row.host_id === storage.hostId || storage.hostAlive(row.host_id)) return [];
          if (take.run(storage.hostId, row.receipt_id, row.host_id).changes !== 1) return [];
          const job = Job.parse(JSON.parse(row.job));
          return [{ receiptId: row.receipt_id, questId: row.quest_id, checkpointId: row.checkpoint_id, ...job }];
        }),
      ),
    markVerified: (receiptId) => void remove.run(receiptId),
    markFinding: (receiptId, status, message) => void end.run(status, message, 0, receiptId),
    unreported: () =>
      (selectUnreported.all(workspace) as Row[]).flatMap((row): UnreportedFailure[] =>
        row.status === "waiting" || row.quest_id === null || (row.host_id !== storage.hostId && storage.hostAlive(row.host_id))
          ? []
          : [{ receiptId: row.receipt_id, questId: row.quest_id, status: row.status, message: row.words }],
      ),
    claimReport: (receiptId) => markReported.run(receiptId).changes === 1,
    failed: () => (count.get(workspace) as { failed: number }).failed,
  };
}
