import type { AuditDeps } from "./audit-deps.ts";
import { auditImages } from "./audit-images.ts";
import { auditIndex } from "./audit-index.ts";
import { auditReceipts } from "./audit-receipts.ts";
import type { JobResult, JobTurns } from "./turns.ts";

/** Pending edits that are looked through. */
const pendingLimit = 1_000;

/**
 * Checks what must hold whatever happened. What is derived (the index, references to messages) is put right, with a receipt; of the rest
 * it tells.
 */
export async function auditMemory(deps: AuditDeps, turns: JobTurns): Promise<JobResult> {
  const dropped = deps.commits.reconcile();
  await turns.turn();
  const problems: string[] = [];
  const receipts = await auditReceipts(deps, turns);
  problems.push(...receipts.problems);
  problems.push(...(await auditImages(deps, turns)));
  for (const { block, tokens, cap } of deps.blocks()) {
    if (tokens > cap) problems.push(`The block ${block} takes ${String(tokens)} tokens and may take ${String(cap)}.`);
  }
  problems.push(...quarantineProblems(deps));
  await turns.turn();
  const index = await auditIndex(deps, turns);
  const put = [
    dropped === 0 ? null : `${amount(dropped, "open commit")} of windows that are gone dropped`,
    index.gone === 0 ? null : `${amount(index.gone, "reference")} to messages that are gone removed`,
    index.repaired === 0 ? null : `${index.repaired === 1 ? "1 entry" : `${String(index.repaired)} entries`} of the index made again`,
  ].filter((words) => words !== null);
  const checked = `Checked ${amount(receipts.commits, "commit")} with receipt and images, the caps, the index of ${amount(index.items, "item")} and the quarantine`;
  const detail = [
    problems.length === 0 ? `${checked}: all is well.` : `${checked}. ${problems.slice(0, 5).join(" ")}${more(problems.length - 5)}`,
    put.length === 0 ? null : `Put right: ${put.join(", ")}.`,
  ]
    .filter((words) => words !== null)
    .join(" ");
  return { ok: problems.length === 0, detail, facts: { problems, dropped, commits: receipts.commits, ...index } };
}

function amount(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? "" : "s"}`;
}

function more(count: number): string {
  return count <= 0 ? "" : ` And ${String(count)} more, which the receipt tells.`;
}

/** Texts that wait for the owner and are in memory all the same, written by the commit they were part of. */
function quarantineProblems({ quarantine, store }: AuditDeps): string[] {
  return quarantine.list({ status: "pending", limit: pendingLimit }).flatMap(({ id, commitId, edit }) => {
    if (edit.content === null || edit.op === "set_aside") return [];
    const item = store.same({ target: edit.target, namespace: edit.namespace, content: edit.content });
    return item !== null && item.commitId === commitId
      ? [`What waits in quarantine as ${id} is in memory too, as ${item.id}. Set the item aside or promote the edit.`]
      : [];
  });
}
