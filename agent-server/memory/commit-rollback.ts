import type { Storage } from "../storage/storage.ts";
import { type Overfull, overfullMessage } from "./core-block-caps.ts";
import type { CommitRow, CommitRows } from "./commit-rows.ts";
import { nameOf } from "./commit-rows.ts";
import type { Change } from "./commit-draft.ts";
import type { Images, KeptChange } from "./commit-images.ts";
import { sameImage } from "./item-rows.ts";
import type { Derived, ItemImage, MemoryStore } from "./item-types.ts";

/** The changes of a rollback, or the reason it is impossible. */
export type RollbackPlan = { readonly changes: readonly Change[] } | { readonly refusal: string };

export interface RollbackDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly rows: CommitRows;
  readonly images: Images;
  readonly caps: (changes: readonly Change[]) => Overfull[];
  readonly snapshots: () => number;
  readonly now: () => number;
}

/** Changed items of a commit that are checked one by one before the rest. */
const looked = 100;
/** The maximum of `rollback` with `last`. */
const maxCommits = 50;

/**
 * Rollbacks. A commit is in force with those of its items that no other commit in force rolled back. A rollback restores the earlier
 * images whole, and is itself a commit that can be rolled back. Thus the commits in force that changed an item form a stack, and
 * the top one can be rolled back exactly.
 */
export function createCommitRollbacks(deps: RollbackDeps) {
  const { store, rows, images } = deps;
  const { db } = deps.storage;
  const laterOnBlock = db.prepare<[number, string, string], Pick<CommitRow, "id" | "status" | "rollback_of">>(
    `SELECT DISTINCT c.id, c.status, c.rollback_of FROM memory_commits c JOIN memory_images i ON i.commit_id = c.id
     WHERE c.kept = 1 AND c.finish_seq > ? AND (json_extract(i.before, '$.block') = ? OR json_extract(i.after, '$.block') = ?)`,
  );
  const finishOf = db.prepare<[string], number | null>("SELECT finish_seq FROM memory_commits WHERE id = ?").pluck();
  const waits = db.prepare<[string], number>("SELECT 1 FROM memory_quarantine WHERE commit_id = ? AND status = 'pending'").pluck();
  const holderOfRef = db.prepare<[string], string>("SELECT id FROM memory_items WHERE ref = ?").pluck();

  /** Items of commits in force, from the current rows. */
  const forces = (): ((commitId: string) => ReadonlySet<string>) => {
    const known = new Map<string, ReadonlySet<string>>();
    const rollbacks = rows.rollbacks();
    const inForce = (commitId: string): ReadonlySet<string> => {
      const before = known.get(commitId);
      if (before !== undefined) return before;
      const taken = new Set(rollbacks.filter(({ of }) => of.includes(commitId)).flatMap(({ id }) => [...inForce(id)]));
      const items = new Set(images.itemsOf(commitId).filter((id) => !taken.has(id)));
      known.set(commitId, items);
      return items;
    };
    return inForce;
  };

  /** The reason an item differs from what a commit left. */
  const blockedBy = (target: CommitRow, change: KeptChange, inForce: (id: string) => ReadonlySet<string>): string => {
    const text = change.after?.content ?? change.before?.content ?? "";
    const named = `"${text.length <= 80 ? text : `${text.slice(0, 79).toWellFormed()}…`}"`;
    for (const { commitId } of images.ofItem(change.itemId)) {
      if (commitId === target.id) break;
      const row = rows.find(commitId);
      if (row === null) return `A commit in another workspace changed ${named} since. Roll it back there first.`;
      if (row.rollback_of !== "[]" || !inForce(commitId).has(change.itemId)) continue;
      const last = rows.inForce(maxCommits).findIndex(({ id }) => id === target.id) + 1;
      const or = last > 1 ? `, or the last ${String(last)}` : "";
      return `The ${nameOf(row)} changed ${named} since: roll that back first${or}.`;
    }
    return `${named} was changed or removed since by a commit that can no longer be rolled back.`;
  };

  const cannot = (row: CommitRow): string | null => {
    if (row.status === "abandoned") return "It was never finished, so there is nothing to roll back.";
    if (row.status === "rolled_back") return `The commit ${row.rolled_back_by ?? "that followed"} already rolled it back.`;
    if (row.changes > 0 && row.kept === 0) {
      return `Only the last ${String(deps.snapshots())} commits can be rolled back. Its receipt ${row.receipt_id ?? ""} lists its changes.`;
    }
    return null;
  };

  /** True when rolling these back completely restores the block as it was before the oldest of them. */
  const isExact = (block: string, targets: readonly CommitRow[]): boolean => {
    const oldest = Math.min(...targets.map(({ finish_seq: seq }) => seq ?? 0));
    const taken = new Set(targets.map(({ id }) => id));
    return laterOnBlock.all(oldest, block, block).every(({ id, status, rollback_of: of }) => {
      if (taken.has(id) || status === "rolled_back") return true;
      const undone = JSON.parse(of) as string[];
      return undone.length > 0 && undone.every((other) => (finishOf.get(other) ?? 0) > oldest);
    });
  };

  const lapsed = (current: ItemImage | null, change: KeptChange): boolean =>
    current === null && change.before === null && isOver(change.after, deps.now());

  return {
    /** The reason a whole commit cannot be rolled back now; null when it can. As `plan`, without checking each item of a large one. */
    problem(target: CommitRow): string | null {
      const problem = target.status === "open" ? null : cannot(target);
      if (problem !== null || target.status === "open") return problem;
      const inForce = forces();
      const mine = inForce(target.id);
      const changed = images.changedSince(target.id, looked);
      for (const change of changed) {
        if (mine.has(change.itemId) && !lapsed(store.get(change.itemId), change)) return blockedBy(target, change, inForce);
      }
      if (changed.length === 0 && mine.size > 0 && !images.isBound(target.id)) return null;
      const plan = this.plan([target], null);
      return "refusal" in plan ? plan.refusal : null;
    },
    /** `targets`: newest first. `itemIds`: only these items of a single target. */
    plan(targets: readonly CommitRow[], itemIds: readonly string[] | null): RollbackPlan {
      const inForce = forces();
      const after = new Map<string, { image: ItemImage | null; derived: Derived | null }>();
      for (const target of targets) {
        const problem = cannot(target);
        if (problem !== null) return { refusal: problem };
        const mine = inForce(target.id);
        const kept = images.ofCommit(target.id);
        const unknown = itemIds?.find((id) => !mine.has(id));
        if (unknown !== undefined) {
          const was = kept.some(({ itemId }) => itemId === unknown);
          return { refusal: was ? `Its change of ${unknown} was already rolled back.` : `It did not change the item ${unknown}.` };
        }
        for (const change of kept) {
          if (!mine.has(change.itemId) || (itemIds !== null && !itemIds.includes(change.itemId))) continue;
          const now = after.get(change.itemId);
          const current = now === undefined ? store.get(change.itemId) : now.image;
          if (!lapsed(current, change) && !sameImage(current, change.after)) return { refusal: blockedBy(target, change, inForce) };
          after.set(change.itemId, { image: change.before, derived: change.derived });
        }
        if (mine.size === 0 && waits.get(target.id) === undefined)
          return { refusal: "It changed nothing, so there is nothing to roll back." };
      }
      const changes = [...after].map(([itemId, { image, derived }]): Change => {
        return { itemId, op: "restore", before: store.get(itemId), after: image, derived, reason: "" };
      });
      for (const { itemId, after: image } of changes) {
        const ref = image?.ref ?? null;
        const holder = ref === null ? undefined : holderOfRef.get(ref);
        if (holder !== undefined && holder !== itemId && !changes.some((other) => other.itemId === holder && other.after === null)) {
          return { refusal: `The message it referred to is now item ${holder}. Delete that first.` };
        }
      }
      const overfull = deps.caps(changes).find(({ block }) => itemIds !== null || !isExact(block, targets));
      return overfull === undefined ? { changes } : { refusal: overfullMessage(overfull) };
    },
    /** Updates whether commits are in force, after their rollback was rolled back in whole or in part. */
    settle(commitIds: readonly string[]): void {
      const inForce = forces();
      const done = new Set<string>();
      const queue = [...commitIds];
      for (const id of queue) {
        // Part of another workspace's commit may be global, and rolled back or restored here.
        const row = done.has(id) ? null : rows.any(id);
        done.add(id);
        if (row === null || row.changes === 0) continue;
        if (inForce(id).size > 0) rows.setState(id, "committed", null);
        else {
          const by = rows.rollbacks().findLast((other) => other.of.includes(id) && inForce(other.id).size > 0);
          rows.setState(id, "rolled_back", by?.id ?? row.rolled_back_by);
        }
        queue.push(...(JSON.parse(row.rollback_of) as string[]));
      }
    },
  };
}

function isOver(image: ItemImage | null, now: number): boolean {
  return image !== null && image.expiresAt !== null && image.expiresAt <= now;
}
