import type { AuditDeps } from "./audit-deps.ts";
import { auditImages } from "./audit-images.ts";
import { auditIndex } from "./audit-index.ts";
import { auditReceipts } from "./audit-receipts.ts";
import type { JobResult, JobYield } from "./job-yield.ts";

/** Pending edits that are compared. */
const pendingLimit = 1_000;

/**
 * Checks the invariants of memory. Derived data (the index, message references) is repaired with a receipt; other
 * problems are reported.
 */
export async function auditMemory(deps: AuditDeps, jobYield: JobYield): Promise<JobResult> {
  const dropped = deps.commits.reconcile();
  await jobYield.pause();
  const problems: string[] = [];
  const receipts = await auditReceipts(deps, jobYield);
  problems.push(...receipts.problems);
  problems.push(...(await auditImages(deps, jobYield)));
  for (const { block, tokens, cap } of deps.blocks()) {
    if (tokens > cap) problems.push(`The block ${block} has ${String(tokens)} tokens; its limit is ${String(cap)}.`);
  }
  problems.push(...quarantineProblems(deps));
  await jobYield.pause();
  const index = await auditIndex(deps, jobYield);
  const put = [
    dropped === 0 ? null : `${amount(dropped, "open commit")} of closed windows abandoned`,
    index.gone === 0 ? null : `${amount(index.gone, "reference")} to deleted messages removed`,
    index.repaired === 0 ? null : `${index.repaired === 1 ? "1 entry" : `${String(index.repaired)} entries`} of the index rebuilt`,
  ].filter((words) => words !== null);
  const checked = `Checked ${amount(receipts.commits, "commit")} with receipts and images, the block limits, the index of ${amount(index.items, "item")} and the quarantine`;
  const detail = [
    problems.length === 0 ? `${checked}. No problems found.` : `${checked}. ${problems.slice(0, 5).join(" ")}${more(problems.length - 5)}`,
    put.length === 0 ? null : `Repaired: ${put.join(", ")}.`,
  ]
    .filter((words) => words !== null)
    .join(" ");
  return { ok: problems.length === 0, detail, facts: { problems, dropped, commits: receipts.commits, ...index } };
}

function amount(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? "" : "s"}`;
}

function more(count: number): string {
  return count <= 0 ? "" : ` The receipt lists ${String(count)} more.`;
}

/** Pending texts that are in memory nevertheless, written by the commit they belonged to. */
function quarantineProblems({ quarantine, store }: AuditDeps): string[] {
  return quarantine.list({ status: "pending", limit: pendingLimit }).flatMap(({ id, commitId, edit }) => {
    if (edit.content === null || edit.op === "set_aside") return [];
    const item = store.same({ target: edit.target, namespace: edit.namespace, content: edit.content });
    return item !== null && item.commitId === commitId
      ? [`The pending edit ${id} is already in memory as ${item.id}. Quarantine the item or approve the edit.`]
      : [];
  });
}
