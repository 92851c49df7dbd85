import type { CoreBlockName } from "../../contract/memory.ts";
import type { BlockParts, Exclusion } from "../core-blocks.ts";
import type { MemorySettings } from "../settings.ts";
import { foldText } from "../text-key.ts";
import type { Found, StoredItem } from "../item-types.ts";
import { byCertainty } from "./candidates.ts";
import { fit } from "./fit.ts";
import { type Content, dataLines, type DataPart, dataParts } from "./render.ts";
import type { SecurityFilter } from "./security-filter.ts";

type Limits = Pick<MemorySettings, "working_tokens" | "retrieved_tokens" | "forgotten_weight">;

export interface DataWish {
  readonly working: readonly StoredItem[];
  readonly retrieved: readonly Found[];
  /** What core blocks say already. */
  readonly core: readonly StoredItem[];
  readonly limits: Limits;
  /** Below this what the search found does not answer the objective. */
  readonly minimalScore: number;
  readonly filter: SecurityFilter;
  readonly estimateTokens: (text: string) => number;
}

/** What of working memory and of what was found goes in, in the order in which it is kept; every other candidate with its reason. */
export function selectData(wish: DataWish): { data: Record<DataPart, StoredItem[]>; excluded: Exclusion[] } {
  const { limits, filter, estimateTokens } = wish;
  const excluded: Exclusion[] = [];
  const said = new Set(wish.core.map(({ content }) => foldText(content)));
  const taken = new Set<string>();

  const allowed = (item: StoredItem): boolean => {
    const reason = filter(item.content);
    if (reason !== null) excluded.push({ id: item.id, reason });
    return reason === null;
  };
  const isNew = (item: StoredItem): boolean => {
    const folded = foldText(item.content);
    const known = said.has(folded);
    if (known) excluded.push({ id: item.id, reason: "Another memory says the same already." });
    said.add(folded);
    return !known;
  };
  const within = (items: readonly StoredItem[], tokens: number, part: string): StoredItem[] => {
    const { kept, leftOut } = fit(items, tokens, (some) => (some.length === 0 ? 0 : estimateTokens(dataLines(some))));
    for (const { unit, tooLong } of leftOut) {
      const reason = tooLong
        ? `It is longer than all ${part} together may be (${String(tokens)} tokens).`
        : `All ${part} together may take ${String(tokens)} tokens, and what is more certain fills them.`;
      excluded.push({ id: unit.id, reason });
    }
    for (const { id } of kept) taken.add(id);
    return kept;
  };

  const working = within(
    wish.working.toSorted(byCertainty).filter((item) => allowed(item) && isNew(item)),
    limits.working_tokens,
    "working memory",
  );
  const found = wish.retrieved
    .filter(({ item }) => !taken.has(item.id))
    .filter(({ item, score }) => {
      const reason = whyNot(item, score, wish);
      if (reason !== null) excluded.push({ id: item.id, reason });
      return reason === null;
    })
    .map(({ item }) => item)
    .toSorted(byCertainty)
    .filter((item) => allowed(item) && isNew(item));
  const retrieved = within(found, limits.retrieved_tokens, "retrieved memory");
  const data = {
    working,
    episodic: retrieved.filter(({ tier }) => tier === "episodic"),
    archival: retrieved.filter(({ tier }) => tier !== "episodic"),
  };
  return { data, excluded };
}

function whyNot(item: StoredItem, score: number, { limits, minimalScore }: DataWish): string | null {
  if (item.kind === "message" || item.content.trim() === "") return "Single messages are not compiled; the summary of their task is.";
  if (item.weight < limits.forgotten_weight) return `It counts for too little by now (${item.weight.toFixed(2)}); a search still finds it.`;
  if (score < minimalScore) return "It has too little to do with the objective.";
  return null;
}

/** One thing that is in a compiled text or not. */
type Unit =
  | { readonly kind: "head"; readonly block: CoreBlockName }
  | { readonly kind: "entry"; readonly block: CoreBlockName; readonly item: StoredItem }
  | { readonly kind: "data"; readonly part: DataPart; readonly item: StoredItem };

/**
 * Of all that the parts let in, what fits the whole. Data leaves before core blocks, and in each the least certain first; what comes
 * from the soul and the owner's files leaves last.
 * @param measure tokens of the text that a content gives
 */
export function fitWhole(
  content: Content,
  max: number,
  measure: (content: Content) => number,
): { content: Content; excluded: Exclusion[] } {
  const units: Unit[] = [
    ...content.blocks.filter(({ head }) => head !== "").map(({ block }) => ({ kind: "head", block }) as const),
    ...content.blocks
      .flatMap(({ block, entries }) => entries.map((item) => ({ kind: "entry", block, item }) as const))
      // Of equal certainty the earlier block and, in it, the earlier entry is kept.
      .toSorted((a, b) => b.item.weight - a.item.weight),
    ...dataParts
      .flatMap((part) => content.data[part].map((item) => ({ kind: "data", part, item }) as const))
      .toSorted((a, b) => byCertainty(a.item, b.item)),
  ];
  const { kept, leftOut } = fit(units, max, (some) => measure(only(content, some)));
  const excluded = leftOut.map(({ unit, tooLong }) => ({
    id: unit.kind === "head" ? `core:${unit.block}` : unit.item.id,
    reason: tooLong
      ? `It is longer than the whole may be (${String(max)} tokens).`
      : `The whole may take ${String(max)} tokens, and what is kept before it fills them.`,
  }));
  return { content: only(content, kept), excluded };
}

/** The content with those units alone, in its own order. */
function only({ blocks, data }: Content, units: readonly Unit[]): Content {
  const heads = new Set(units.flatMap((unit) => (unit.kind === "head" ? [unit.block] : [])));
  const ids = new Set(units.flatMap((unit) => (unit.kind === "head" ? [] : [unit.item.id])));
  const chosen = (items: readonly StoredItem[]): StoredItem[] => items.filter(({ id }) => ids.has(id));
  return {
    blocks: blocks.map(({ block, head, source, entries }) => ({
      block,
      head: heads.has(block) ? head : "",
      source,
      entries: chosen(entries),
    })),
    data: { working: chosen(data.working), episodic: chosen(data.episodic), archival: chosen(data.archival) },
  };
}

/** The parts of the core blocks as content, without anything else. */
export function coreContent(parts: readonly BlockParts[]): Content["blocks"] {
  return parts.map(({ block, head, source, entries }) => ({ block, head, source, entries }));
}
