import type { Receipt } from "../../contract/receipts.ts";
import type { AuditDeps } from "./audit-deps.ts";
import type { JobYield } from "./job-yield.ts";

const page = 200;
/** Receipts are checked from so long before the last audit (ms). */
const overlap = 86_400_000;

interface Row {
  seq: number;
  id: string;
  receipt_id: string | null;
}

/** Checks that every finished commit has its receipt, and the reverse, in every workspace. */
export async function auditReceipts(
  { storage, ledger, lastRun }: Pick<AuditDeps, "storage" | "ledger" | "lastRun">,
  jobYield: JobYield,
): Promise<{ commits: number; problems: string[] }> {
  const problems: string[] = [];
  const last = lastRun();
  // Receipts from before the first commit need no check.
  const first = storage.db.prepare<[], number | null>("SELECT min(created_at) FROM memory_commits").pluck().get() ?? 0;
  const from = Math.max(0, last === null ? first : last - overlap);
  const finished = storage.db.prepare<[number, number, number], Row>(
    `SELECT seq, id, receipt_id FROM memory_commits
     WHERE status IN ('committed', 'rolled_back') AND seq > ? AND finished_at >= ? ORDER BY seq LIMIT ?`,
  );
  let commits = 0;
  for (let after = 0; ; ) {
    const rows = finished.all(after, from, page);
    const end = rows.at(-1)?.seq;
    if (end === undefined) break;
    after = end;
    for (const { id, receipt_id: receiptId } of rows) {
      commits += 1;
      const receipt = receiptId === null ? null : await ledger.find(receiptId);
      if (receipt === null) problems.push(`Commit ${id} has no receipt.`);
      else if (commitOf(receipt) !== id) problems.push(`The receipt of commit ${id} belongs to another commit.`);
    }
    await jobYield.pause();
  }
  const known = storage.db
    .prepare<[string], number>("SELECT 1 FROM memory_commits WHERE id = ? AND status IN ('committed', 'rolled_back')")
    .pluck();
  let cursor: string | undefined;
  do {
    const found = ledger.search({
      actionType: "system",
      from: new Date(from).toISOString(),
      limit: page,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const receipt of found.items) {
      if (receipt.actionName !== "memory.commit" || receipt.status !== "success") continue;
      const id = commitOf(receipt);
      if (id === null || known.get(id) === undefined) problems.push(`Receipt ${receipt.id} refers to a missing commit.`);
    }
    cursor = found.nextCursor;
    await jobYield.pause();
  } while (cursor !== undefined);
  return { commits, problems };
}

function commitOf({ inputs, outputs, metadata }: Receipt): string | null {
  const id = inputs["commitId"] ?? outputs["commitId"] ?? metadata["commitId"];
  return typeof id === "string" ? id : null;
}
