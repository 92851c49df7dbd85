import { LancelotError } from "../contract/errors.ts";
import type { MemoryTarget } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { itemOfRow, type ItemRow, placeOfTarget, targetOf } from "./item-rows.ts";
import { foldText, textKey } from "./text-key.ts";
import type { ItemImage } from "./item-types.ts";

/** A commit's changes so far; null for a deleted item. */
export type Overlay = ReadonlyMap<string, ItemImage | null>;

export interface ItemSelector {
  readonly target: MemoryTarget;
  readonly selector: string;
  /** Searched first. */
  readonly namespace: string;
  /** Quest whose working memory is visible beside items without a quest; null: every quest. */
  readonly questId: string | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Candidates in an error message, and the shown length of each (characters). */
const named = 3;
const namedCharacters = 80;
/** Items that are compared when nothing matches the selector. */
const nearLimit = 2_000;

/**
 * Finds the one item a selector means: by id, by whole text ignoring case and white space, or by a part of the text that is unique in
 * the target. Expired items, and working memory of other tasks, are found only by id.
 */
export function createSelectItem(of: { readonly storage: Storage; readonly workspace: string }) {
  const { workspace } = of;
  const { db } = of.storage;
  const inTarget = "workspace IN ('', @workspace) AND tier = @tier AND block IS @block";
  const alive = `(expires_at IS NULL OR expires_at > @now)
    AND (@questId IS NULL OR tier <> 'working' OR namespace NOT LIKE 'quest:%' OR namespace = 'quest:' || @questId)`;
  const select = (where: string) => db.prepare<[Record<string, unknown>], ItemRow>(`SELECT * FROM memory_items WHERE ${where}`);
  const byId = select("workspace IN ('', @workspace) AND id = @id");
  // The index is named because SQLite without statistics would scan a whole tier.
  const byKey = db.prepare<[Record<string, unknown>], ItemRow>(
    `SELECT * FROM memory_items INDEXED BY memory_items_text
     WHERE text_key = @key AND text_key <> '' AND ${inTarget} AND ${alive} ORDER BY seq`,
  );
  // A one-line ASCII text folds to its lower case, so SQL can filter it by the word. Others are folded and compared here.
  const texts = db.prepare<[Record<string, unknown>], { id: string; content: string }>(
    `SELECT id, content FROM memory_items WHERE ${inTarget} AND ${alive} AND content <> ''
     AND (instr(lower(content), @word) > 0 OR content GLOB '*[^ -~]*') ORDER BY seq DESC`,
  );

  /** @throws LancelotError `invalid_params` when nothing matches, `conflict` when several items do */
  return (request: ItemSelector, overlay: Overlay): ItemImage => {
    const { target, selector } = request;
    const place = { ...placeOfTarget(target), workspace, now: request.now, questId: request.questId };
    const load = (id: string): ItemImage | null => {
      if (overlay.has(id)) return overlay.get(id) ?? null;
      const row = byId.get({ id, workspace });
      return row === undefined ? null : itemOfRow(row);
    };
    const staged = [...overlay.values()].filter((image) => image !== null && targetOf(image) === target);
    const of = (images: (ItemImage | null)[]): ItemImage[] => images.filter((image) => image !== null);

    const named = load(selector);
    if (named !== null) {
      if (targetOf(named) === target) return named;
      throw new LancelotError(
        "invalid_params",
        `The item ${named.id} is not in ${target}, but in ${targetOf(named)}. Name that as the target.`,
      );
    }

    const key = textKey(selector);
    if (key === "") throw new LancelotError("invalid_params", "The selector is empty. Name the item by its id or by a part of its text.");
    const whole = unique([
      ...of(staged).filter(({ content }) => textKey(content) === key),
      ...byKey.all({ ...place, key }).flatMap((row) => (overlay.has(row.id) ? [] : [itemOfRow(row)])),
    ]);
    const here = whole.filter(({ namespace }) => namespace === request.namespace);
    const exact = here.length === 1 ? here : whole;
    if (exact.length > 1) throw ambiguous(target, exact);
    if (exact[0] !== undefined) return exact[0];

    const part = foldText(selector);
    const found = new Set(of(staged).flatMap(({ id, content }) => (foldText(content).includes(part) ? [id] : [])));
    for (const { id, content } of texts.iterate({ ...place, word: longestWord(part) })) {
      if (!overlay.has(id) && foldText(content).includes(part)) found.add(id);
      if (found.size > 20) break;
    }
    const parts = of([...found].map(load));
    if (parts.length > 1) throw ambiguous(target, parts);
    if (parts[0] !== undefined) return parts[0];

    const near: { id: string; content: string }[] = of(staged);
    for (const text of texts.iterate({ ...place, word: "" })) {
      if (!overlay.has(text.id)) near.push(text);
      if (near.length >= nearLimit) break;
    }
    throw missed(target, nearest(part, near));
  };
}

function unique(images: readonly ItemImage[]): ItemImage[] {
  return [...new Map(images.map((image) => [image.id, image])).values()];
}

function ambiguous(target: MemoryTarget, images: readonly ItemImage[]): LancelotError {
  return new LancelotError("conflict", `More than one item of ${target} has this text: ${list(images)}. Name one by its id.`, {
    data: { candidates: candidates(images) },
  });
}

function missed(target: MemoryTarget, near: readonly { id: string; content: string }[]): LancelotError {
  return new LancelotError(
    "invalid_params",
    near.length === 0
      ? `No item of ${target} has this text, and none is similar.`
      : `No item of ${target} has this text. Nearest: ${list(near)}. Name one by its id or by a part of its text.`,
    { data: { candidates: candidates(near) } },
  );
}

function list(items: readonly { id: string; content: string }[]): string {
  const words = items.slice(0, named).map(({ id, content }) => `${id} ("${shorten(content)}")`);
  return items.length > named ? `${words.join(", ")} and others` : words.join(", ");
}

function candidates(items: readonly { id: string; content: string }[]): { id: string; content: string }[] {
  return items.slice(0, named).map(({ id, content }) => ({ id, content: shorten(content) }));
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  return line.length <= namedCharacters ? line : `${line.slice(0, namedCharacters - 1).toWellFormed()}…`;
}

/** Items that share the most words, best first. */
function nearest(folded: string, items: readonly { id: string; content: string }[]): { id: string; content: string }[] {
  const words = new Set(wordsOf(folded));
  return items
    .map((item) => ({ item, shared: new Set(wordsOf(foldText(item.content)).filter((word) => words.has(word))).size }))
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .slice(0, named)
    .map(({ item }) => item);
}

function longestWord(folded: string): string {
  const words = folded.match(/[a-z0-9]+/g) ?? [];
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), "");
}

function wordsOf(folded: string): string[] {
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}
