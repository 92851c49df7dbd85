import type { MemoryDiff } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { imageOf, sortedJson, targetOf } from "./item-rows.ts";
import type { Change } from "./commit-draft.ts";
import type { Derived, ItemImage } from "./item-types.ts";

/** The change of one item by a finished commit. */
export interface KeptChange {
  readonly itemId: string;
  readonly op: MemoryDiff["op"];
  readonly before: ItemImage | null;
  readonly after: ItemImage | null;
  /** The usage data of `before`. */
  readonly derived: Derived | null;
  readonly reason: string;
}

interface ImageRow {
  item_id: string;
  op: string;
  before: string | null;
  after: string | null;
  reason: string;
}

/** Before- and after-images of the commits that can be rolled back. */
export function createImages(storage: Storage) {
  const { db } = storage;
  const insert = db.prepare(
    `INSERT INTO memory_images (commit_id, item_id, number, op, before, after, reason)
     VALUES (@commitId, @itemId, @number, @op, @before, @after, @reason)`,
  );
  const ofCommit = db.prepare<[string, number], ImageRow>("SELECT * FROM memory_images WHERE commit_id = ? ORDER BY number LIMIT ?");
  // A version is identified by its commit and number.
  const changedSince = db.prepare<[string, number], ImageRow>(
    `SELECT i.* FROM memory_images i LEFT JOIN memory_items m ON m.id = i.item_id
     WHERE i.commit_id = ? AND (m.commit_id IS NOT json_extract(i.after, '$.commitId') OR m.version IS NOT json_extract(i.after, '$.version'))
     ORDER BY i.number LIMIT ?`,
  );
  const isBound = db
    .prepare<[string], number>(
      `SELECT 1 FROM memory_images WHERE commit_id = ?
       AND (json_extract(before, '$.block') IS NOT NULL OR json_extract(after, '$.block') IS NOT NULL OR json_extract(before, '$.ref') IS NOT NULL)`,
    )
    .pluck();
  const itemsOf = db.prepare<[string], string>("SELECT item_id FROM memory_images WHERE commit_id = ? ORDER BY number").pluck();
  const ofItem = db.prepare<[string], ImageRow & { commit_id: string }>(
    `SELECT i.* FROM memory_images i JOIN memory_commits c ON c.id = i.commit_id WHERE i.item_id = ? ORDER BY c.finish_seq DESC`,
  );
  const removed = db.prepare("DELETE FROM memory_images WHERE commit_id = ?");
  const unkept = db.prepare("UPDATE memory_commits SET kept = 0 WHERE id = ?");
  // The host's own commits (events, summaries) are frequent, so they have their own quota.
  const beyond = db
    .prepare<[string, number], string>(
      `SELECT id FROM (
         SELECT id, row_number() OVER (PARTITION BY author = 'system' ORDER BY finish_seq DESC) AS place
         FROM memory_commits WHERE workspace = ? AND kept = 1
       ) WHERE place > ?`,
    )
    .pluck();
  const rollbacks = db.prepare<[], { id: string; rollback_of: string }>(
    "SELECT id, rollback_of FROM memory_commits WHERE kept = 1 AND rollback_of <> '[]'",
  );
  const isKept = db.prepare<[string], number>("SELECT kept FROM memory_commits WHERE id = ?").pluck();

  return {
    write(commitId: string, changes: readonly Change[]): void {
      changes.forEach(({ itemId, op, before, after, reason }, number) => {
        const derived =
          before === null ? null : { weight: before.weight, reinforcedAt: before.reinforcedAt, reinforced: before.reinforced };
        insert.run({
          commitId,
          itemId,
          number,
          op,
          before: before === null ? null : sortedJson({ ...imageOf(before), derived }),
          after: after === null ? null : sortedJson(imageOf(after)),
          reason,
        });
      });
    },
    /** The first `most` changes, in the order they were made. */
    ofCommit: (commitId: string, most = -1): KeptChange[] => ofCommit.all(commitId, most).map(changeOfRow),
    /** The first `most` changes whose items were changed again since. */
    changedSince: (commitId: string, most: number): KeptChange[] => changedSince.all(commitId, most).map(changeOfRow),
    /** True when rolling back could hit a block's cap or a second reference to the same message. */
    isBound: (commitId: string): boolean => isBound.get(commitId) !== undefined,
    itemsOf: (commitId: string): string[] => itemsOf.all(commitId),
    /** Newest first. */
    ofItem: (itemId: string): { commitId: string; change: KeptChange }[] =>
      ofItem.all(itemId).map((row) => ({ commitId: row.commit_id, change: changeOfRow(row) })),
    /**
     * Deletes the images of all but the newest `keep` commits of a workspace. A commit and its rollbacks are kept as long as the
     * newest of them, because a rollback is computed from all of them.
     */
    prune(workspace: string, keep: number): void {
      const due = new Set(beyond.all(workspace, keep));
      if (due.size === 0) return;
      const links = rollbacks.all().map((row) => [row.id, ...(JSON.parse(row.rollback_of) as string[])]);
      const stays = (ids: readonly string[]): boolean =>
        ids.some((id) => due.has(id)) && ids.some((id) => !due.has(id) && isKept.get(id) === 1);
      for (let held = links.find(stays); held !== undefined; held = links.find(stays)) for (const id of held) due.delete(id);
      for (const id of due) {
        removed.run(id);
        unkept.run(id);
      }
    },
  };
}

export type Images = ReturnType<typeof createImages>;

/** A change in the form of the contract. */
export function diffOf(change: Pick<KeptChange, "itemId" | "op" | "before" | "after" | "reason">): MemoryDiff[] {
  const image = change.after ?? change.before;
  if (image === null) return [];
  return [
    {
      itemId: change.itemId,
      target: targetOf(image),
      namespace: image.namespace,
      op: change.op,
      before: change.before?.content ?? null,
      after: change.after?.content ?? null,
      confidence: image.confidence,
      provenance: image.provenance,
      reason: change.reason,
    },
  ];
}

function changeOfRow(row: ImageRow): KeptChange {
  const before = row.before === null ? null : (JSON.parse(row.before) as ItemImage & { derived: Derived | null });
  return {
    itemId: row.item_id,
    op: row.op as MemoryDiff["op"],
    before: before === null ? null : imageOf(before),
    after: row.after === null ? null : (JSON.parse(row.after) as ItemImage),
    derived: before?.derived ?? null,
    reason: row.reason,
  };
}
