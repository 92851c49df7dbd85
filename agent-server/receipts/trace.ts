import type Database from "better-sqlite3";
import type { Receipt, TraceNode } from "../contract/receipts.ts";
import { type ProjectedRow, receiptOfRow, selectReceipts } from "./projection.ts";

/** Maximum receipts of a trace, and its maximum depth: deeper receipts are attached to the last level. */
const maxNodes = 5_000;
const maxDepth = 100;

/** Returns the trees of a quest, or the tree of a receipt from its topmost ancestor down, oldest first. Empty when there is none. */
export function traceReceipts(db: Database.Database, of: { id: string } | { questId: string }): TraceNode[] {
  return "questId" in of ? traceQuest(db, of.questId) : traceReceipt(db, of.id);
}

function traceQuest(db: Database.Database, questId: string): TraceNode[] {
  const rows = db
    .prepare<[string, number], ProjectedRow>(`${selectReceipts} WHERE r.quest_id = ? ORDER BY r.open_seq LIMIT ?`)
    .all(questId, maxNodes);
  return toTrees(rows.map(receiptOfRow));
}

function traceReceipt(db: Database.Database, id: string): TraceNode[] {
  const parentOf = db.prepare<[string], string | null>("SELECT parent_id FROM receipts WHERE id = ?").pluck();
  let root = id;
  const climbed = new Set([root]);
  for (let parent = parentOf.get(root); typeof parent === "string" && climbed.size < maxNodes; parent = parentOf.get(root)) {
    // The parent is not in this database, or was visited before.
    if (climbed.has(parent) || parentOf.get(parent) === undefined) break;
    climbed.add(parent);
    root = parent;
  }
  const find = db.prepare<[string], ProjectedRow>(`${selectReceipts} WHERE r.id = ?`);
  const childrenOf = db.prepare<[string, number], ProjectedRow>(`${selectReceipts} WHERE r.parent_id = ? ORDER BY r.open_seq LIMIT ?`);
  const first = find.get(root);
  if (first === undefined) return [];
  const rows = [first];
  const seen = new Set([root]);
  for (const { id: parent } of rows) {
    if (rows.length === maxNodes) break;
    for (const row of childrenOf.all(parent, maxNodes - rows.length)) {
      if (seen.has(row.id)) continue;
      seen.add(row.id);
      rows.push(row);
    }
  }
  return toTrees(rows.sort((a, b) => a.open_seq - b.open_seq).map(receiptOfRow));
}

/**
 * Attaches each receipt to its parent, in the given order. A parent may follow its child (its entry was batched), and modified rows
 * may form a cycle, of which one becomes a root.
 */
function toTrees(receipts: readonly Receipt[]): TraceNode[] {
  const ids = new Set(receipts.map((receipt) => receipt.id));
  const byParent = Map.groupBy(receipts, ({ parentId }) => (parentId !== null && ids.has(parentId) ? parentId : null));
  const roots: TraceNode[] = [];
  const placed = new Set<string>();

  const grow = (root: Receipt): void => {
    const queue = [{ receipt: root, siblings: roots, depth: 0 }];
    for (const { receipt, siblings, depth } of queue) {
      if (placed.has(receipt.id)) continue;
      placed.add(receipt.id);
      const node: TraceNode = { receipt, children: [] };
      siblings.push(node);
      for (const child of byParent.get(receipt.id) ?? []) {
        queue.push({ receipt: child, siblings: depth < maxDepth ? node.children : siblings, depth: Math.min(depth + 1, maxDepth) });
      }
    }
  };
  for (const receipt of byParent.get(null) ?? []) grow(receipt);
  for (const receipt of receipts) if (!placed.has(receipt.id)) grow(receipt);
  return roots;
}
