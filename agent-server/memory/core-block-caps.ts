import type { CoreBlockName } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { blockText, orderEntries } from "./core-block-text.ts";
import { itemOfRow, type ItemRow } from "./item-rows.ts";
import type { Derived, ItemImage, StoredItem } from "./item-types.ts";

/** A core block that would exceed its cap. */
export interface Overfull {
  readonly block: CoreBlockName;
  readonly tokens: number;
  readonly cap: number;
  /** False for the block as another workspace sees it. */
  readonly here: boolean;
  /** Entries to remove, lowest confidence first. */
  readonly entries: readonly { readonly id: string; readonly content: string }[];
}

type Replaced = {
  readonly itemId: string;
  readonly before: ItemImage | null;
  readonly after: ItemImage | null;
  readonly derived: Derived | null;
};

/** Finds core blocks that changes would overfill, in every workspace that sees them. A change that makes a full block smaller is allowed. */
export function createCaps(deps: {
  readonly storage: Storage;
  readonly workspace: string;
  readonly estimateTokens: (text: string) => number;
  readonly cap: (block: CoreBlockName) => number;
}) {
  const { db } = deps.storage;
  const entries = db.prepare<[string, string], ItemRow>(
    "SELECT * FROM memory_items WHERE tier = 'core' AND block = ? AND workspace IN ('', ?)",
  );
  const places = db
    .prepare<[string], string>("SELECT DISTINCT workspace FROM memory_items WHERE tier = 'core' AND block = ? AND workspace <> ''")
    .pluck();
  const tokensOf = (items: readonly StoredItem[]): number =>
    items.length === 0 ? 0 : deps.estimateTokens(blockText(orderEntries(items).map(({ content }) => content)));

  return (changes: readonly Replaced[]): Overfull[] => {
    const blocks = new Set(
      changes.flatMap(({ before, after }) => [before?.block ?? null, after?.block ?? null]).filter((block) => block !== null),
    );
    const changed = new Map(changes.map((change) => [change.itemId, change]));
    const found: Overfull[] = [];
    for (const block of blocks) {
      const cap = deps.cap(block);
      for (const place of new Set([deps.workspace, ...places.all(block)])) {
        const now = entries.all(block, place).map(itemOfRow);
        const then = [
          ...now.filter(({ id }) => !changed.has(id)),
          ...changes.flatMap(({ after, derived }) =>
            after !== null && after.block === block && (after.workspace === "" || after.workspace === place)
              ? [stored(after, derived)]
              : [],
          ),
        ];
        const tokens = tokensOf(then);
        if (tokens <= cap || tokens <= tokensOf(now)) continue;
        const here = place === deps.workspace;
        found.push({
          block,
          tokens,
          cap,
          here,
          entries: here
            ? orderEntries(now)
                .toReversed()
                .map(({ id, content }) => ({ id, content }))
            : [],
        });
      }
    }
    return found;
  };
}

function stored(image: ItemImage, derived: Derived | null): StoredItem {
  return { ...image, seq: 0, ...(derived ?? { weight: image.confidence, reinforcedAt: image.updatedAt, reinforced: 0 }) };
}

/** The message for the user. */
export function overfullMessage({ block, tokens, cap, here, entries }: Overfull): string {
  const where = here ? "" : ", as another workspace sees it,";
  const removable = entries
    .slice(0, 3)
    .map(({ id, content }) => `${id} ("${content.length <= 60 ? content : `${content.slice(0, 59).toWellFormed()}…`}")`)
    .join(", ");
  const advice = removable === "" ? "Shorten the text." : `Shorten the text, or replace or delete one of these: ${removable}.`;
  return `The block ${block}${where} would have ${String(tokens)} tokens; its limit is ${String(cap)}. ${advice}`;
}
