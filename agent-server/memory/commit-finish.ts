import { LancelotError } from "../contract/errors.ts";
import type { MemoryDiff, Provenance } from "../contract/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { type Overfull, overfullMessage } from "./core-block-caps.ts";
import { type CommitRow, type CommitRows, nameOf } from "./commit-rows.ts";
import type { Change, Confirmation, StagedEdit } from "./commit-draft.ts";
import { diffOf, type Images } from "./commit-images.ts";
import { sortedJson } from "./item-rows.ts";
import type { MemorySettings } from "./memory-settings.ts";
import type { MemoryStore } from "./item-types.ts";

export interface CommitFinishDeps {
  readonly store: MemoryStore;
  readonly rows: CommitRows;
  readonly images: Images;
  readonly ledger: Pick<Ledger, "open" | "close">;
  readonly caps: (changes: readonly Change[]) => Overfull[];
  readonly settings: () => MemorySettings;
  readonly workspace: string;
  readonly now: () => number;
}

/** Changes that a receipt lists; the ledger shortens longer texts. */
const maxListed = 200;

/** Writes a finished commit inside the caller's transaction: items, images, the commit's row and its receipt, or none of them. */
export function createCommitFinish(deps: CommitFinishDeps) {
  const { store, rows, images, ledger } = deps;

  return {
    /** @throws LancelotError `too_large` when a core block would exceed its cap by more than a rollback restores */
    finish(
      row: CommitRow,
      of: {
        readonly changes: readonly Change[];
        readonly confirmations: readonly Confirmation[];
        readonly provenance: readonly Provenance[];
        readonly rollbackOf: readonly string[];
        readonly parentId: string | null;
      },
    ): { commitId: string; diff: MemoryDiff[]; receiptId: string } {
      const { changes, rollbackOf } = of;
      const isRollback = rollbackOf.length > 0;
      const overfull = isRollback ? undefined : deps.caps(changes)[0];
      if (overfull !== undefined) {
        const { block, tokens, cap } = overfull;
        throw new LancelotError("too_large", overfullMessage(overfull), { data: { block, tokens, cap } });
      }
      // Removals come first: a new item may refer to the same message as a removed one.
      for (const { itemId, after } of changes) if (after === null) store.put(itemId, null);
      for (const { itemId, after, derived } of changes) if (after !== null) store.put(itemId, after, derived ?? {});
      for (const { itemId, times, confidence } of of.confirmations) {
        const item = store.get(itemId);
        if (item === null) continue;
        store.derive(itemId, {
          weight: Math.max(item.weight, confidence),
          reinforced: item.reinforced + times,
          reinforcedAt: deps.now(),
        });
      }
      const diff = changes.flatMap(diffOf);
      const places = changes.flatMap(({ before, after }) => (after ?? before)?.workspace ?? []);
      const everywhere = places.length > 0 && places.every((place) => place === "");
      const workspace = everywhere ? "" : deps.workspace;
      const receiptId = ledger.open({
        actionType: "system",
        actionName: "memory.commit",
        inputs: { commitId: row.id, author: row.author, reason: row.reason, ...(isRollback ? { rollbackOf } : {}) },
        riskTier: "T1",
        parentId: of.parentId,
        questId: row.quest_id,
      });
      images.write(row.id, changes);
      rows.finish({
        id: row.id,
        workspace,
        at: deps.now(),
        receiptId,
        changes: diff.length,
        kept: changes.length > 0,
        rollbackOf,
      });
      images.prune(workspace, deps.settings().snapshots);
      ledger.close(receiptId, {
        status: "success",
        outputs: { changes: diff.length, confirmed: of.confirmations.length, diff: diff.slice(0, maxListed) },
        metadata: { rollback: row.id, provenance: different(of.provenance).slice(0, maxListed) },
      });
      return { commitId: row.id, diff, receiptId };
    },
    /** The error for an edit whose item changed since it was staged: the first committer wins. */
    conflict(staged: StagedEdit): LancelotError {
      const stored = store.get(staged.itemId);
      const by = stored === null ? (images.ofItem(staged.itemId)[0]?.commitId ?? null) : stored.commitId;
      if (stored?.expiresAt !== null && stored?.expiresAt !== undefined && stored.expiresAt <= deps.now()) {
        const words = `The item ${staged.itemId} has expired since this edit was staged, so the commit was not applied. Abandon it and begin another one.`;
        return new LancelotError("conflict", words, { data: { itemId: staged.itemId } });
      }
      const what = stored === null ? "removed" : "changed";
      const restored = stored !== null && staged.base !== null && stored.version < staged.base.version;
      const who = restored ? "a rollback" : by === null ? "another commit" : nameOf(rows.find(by));
      const advice =
        stored === null ? "Abandon it and begin another one." : "Stage the edit again on the current text, or abandon the commit.";
      return new LancelotError(
        "conflict",
        `The item ${staged.itemId} was ${what} by ${who} since this edit was staged, so the commit was not applied. ${advice}`,
        { data: { itemId: staged.itemId, ...(by === null ? {} : { commitId: by }) } },
      );
    },
  };
}

function different(provenance: readonly Provenance[]): Provenance[] {
  return [...new Map(provenance.map((one) => [sortedJson(one), one])).values()];
}
