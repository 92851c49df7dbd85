import type { Draft } from "./commit-draft.ts";
import { textKey } from "./text-key.ts";
import type { QuarantineStore } from "./commit-types.ts";
import type { Author, GatedEdit, MemoryStore } from "./item-types.ts";

/** Pending entries that are compared with a new one. */
const compared = 200;

/**
 * Puts an edit into quarantine with its item and the version its author saw.
 * @returns the entry's id, that of an equal entry of a finished commit, or null for an insert of a known text
 * @throws LancelotError when the selector matches no item, or several
 */
export function createQuarantineEdit(deps: { readonly quarantine: QuarantineStore; readonly store: MemoryStore }) {
  const { quarantine, store } = deps;
  return (of: {
    readonly draft: Draft;
    readonly edit: GatedEdit;
    readonly author: Author;
    readonly commitId: string;
    readonly why: string;
    readonly isFinished: (commitId: string) => boolean;
  }): string | null => {
    const { draft, edit, author, commitId, why } = of;
    if (edit.op === "insert" && draft.sameAs(edit) !== null) return null;
    const item = edit.op === "insert" ? null : store.get(draft.find(edit).id);
    const waiting = quarantine
      .list({ status: "pending", limit: compared })
      .find(
        (entry) =>
          entry.edit.op === edit.op &&
          entry.edit.target === edit.target &&
          entry.edit.namespace === edit.namespace &&
          entry.itemId === (item?.id ?? null) &&
          entry.itemVersion === (item?.version ?? null) &&
          textKey(entry.edit.content ?? "") === textKey(edit.content ?? "") &&
          (entry.commitId === commitId || of.isFinished(entry.commitId)),
      );
    if (waiting !== undefined) return waiting.id;
    return quarantine.put({
      commitId,
      questId: author.questId,
      author: author.by,
      edit,
      itemId: item?.id ?? null,
      itemVersion: item?.version ?? null,
      image: null,
      why,
    }).id;
  };
}
