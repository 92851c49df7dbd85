import type { CoreBlockName } from "../../contract/memory.ts";
import type { BlockParts, Exclusion } from "../core-blocks.ts";
import type { MemorySettings } from "../memory-settings.ts";
import { foldText } from "../text-key.ts";
import type { Found, StoredItem } from "../item-types.ts";
import { byCertainty } from "./prompt-candidates.ts";
import { fit } from "./budget-fit.ts";
import { type Content, dataLines, type DataPart, dataParts } from "./render-context.ts";
import type { SecurityFilter } from "./security-filter.ts";

type Limits = Pick<MemorySettings, "working_tokens" | "retrieved_tokens" | "forgotten_weight">;

export interface DataSelectionRequest {
  readonly working: readonly StoredItem[];
  readonly retrieved: readonly Found[];
  /** Items that the core blocks already contain. */
  readonly core: readonly StoredItem[];
  readonly limits: Limits;
  /** Search results below this score do not answer the objective. */
  readonly minimalScore: number;
  /** True for a request, which may name a thing among unknown words; results about it belong to it. */
  readonly mentions: boolean;
  readonly filter: SecurityFilter;
  readonly estimateTokens: (text: string) => number;
}

/** The included working and retrieved items in order of importance, and the other candidates with their reasons. */
export function selectData(request: DataSelectionRequest): { data: Record<DataPart, StoredItem[]>; excluded: Exclusion[] } {
  const { limits, filter, estimateTokens } = request;
  const excluded: Exclusion[] = [];
  const coreTexts = new Set(request.core.map(({ content }) => foldText(content)));
  const taken = new Set<string>();

  const allowed = (item: StoredItem): boolean => {
    const reason = filter(item.content);
    if (reason !== null) excluded.push({ id: item.id, reason });
    return reason === null;
  };
  const isNew = (item: StoredItem): boolean => {
    const folded = foldText(item.content);
    const known = coreTexts.has(folded);
    if (known) excluded.push({ id: item.id, reason: "Another item says the same." });
    coreTexts.add(folded);
    return !known;
  };
  const within = (items: readonly StoredItem[], tokens: number, part: string): StoredItem[] => {
    const { kept, excludedUnits } = fit(items, tokens, (some) => (some.length === 0 ? 0 : estimateTokens(dataLines(some))));
    for (const { unit, tooLong } of excludedUnits) {
      const reason = tooLong
        ? `It is longer than the limit of all ${part} (${String(tokens)} tokens).`
        : `All ${part} is limited to ${String(tokens)} tokens, and items with higher confidence fill it.`;
      excluded.push({ id: unit.id, reason });
    }
    for (const { id } of kept) taken.add(id);
    return kept;
  };

  const working = within(
    request.working.toSorted(byCertainty).filter((item) => allowed(item) && isNew(item)),
    limits.working_tokens,
    "working memory",
  );
  const found = request.retrieved
    .filter(({ item }) => !taken.has(item.id))
    .filter(({ item, score, named }) => {
      const reason = exclusionReason(item, request.mentions && named ? Math.max(score, request.minimalScore) : score, request);
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

function exclusionReason(item: StoredItem, score: number, { limits, minimalScore }: DataSelectionRequest): string | null {
  if (item.kind === "message" || item.content.trim() === "") return "Messages are represented by the summary of their task.";
  if (item.weight < limits.forgotten_weight) return `Its weight has decayed to ${item.weight.toFixed(2)}; search still finds it.`;
  if (score < minimalScore) return "It is not relevant enough to the objective.";
  return null;
}

/** One included or excluded part of a compiled text. */
type Unit =
  | { readonly kind: "head"; readonly block: CoreBlockName }
  | { readonly kind: "entry"; readonly block: CoreBlockName; readonly item: StoredItem }
  | { readonly kind: "data"; readonly part: DataPart; readonly item: StoredItem };

/**
 * The units that fit the total limit. Data is excluded before core blocks, lowest confidence first; text from
 * the soul and the owner's files is excluded last.
 * @param measure tokens of the rendered content
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
      // At equal confidence, earlier blocks and earlier entries are kept.
      .toSorted((a, b) => b.item.weight - a.item.weight),
    ...dataParts
      .flatMap((part) => content.data[part].map((item) => ({ kind: "data", part, item }) as const))
      .toSorted((a, b) => byCertainty(a.item, b.item)),
  ];
  const { kept, excludedUnits } = fit(units, max, (some) => measure(only(content, some)));
  const excluded = excludedUnits.map(({ unit, tooLong }) => ({
    id: unit.kind === "head" ? `core:${unit.block}` : unit.item.id,
    reason: tooLong
      ? `It is longer than the total limit (${String(max)} tokens).`
      : `The total is limited to ${String(max)} tokens, and more important parts fill it.`,
  }));
  return { content: only(content, kept), excluded };
}

/** The content with only those units, in its own order. */
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

/** The core blocks as content, without other parts. */
export function coreContent(parts: readonly BlockParts[]): Content["blocks"] {
  return parts.map(({ block, head, source, entries }) => ({ block, head, source, entries }));
}
