import { LancelotError } from "../../contract/errors.ts";
import { MemoryTier } from "../../contract/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { compare } from "../core-block-text.ts";
import type { Found, MemorySearch, MemoryStore, SearchQuery, StoredItem } from "../item-types.ts";
import { createCandidates } from "./search-candidates.ts";
import { parseQuery } from "./search-query.ts";
import { score } from "./search-ranking.ts";
import { type Relevance, read, relevanceOf } from "./text-relevance.ts";
import { snippetOf } from "./search-snippet.ts";
import { namesOf } from "./shared-names.ts";
import { createVocabulary } from "./index-vocabulary.ts";
import { fold } from "./text-tokens.ts";

export { minScore } from "./search-ranking.ts";

export interface MemorySearchDeps {
  readonly storage: Storage;
  readonly store: Pick<MemoryStore, "bySeq" | "list">;
  /** The searchable text of an item: its content, or the text of the message it refers to. */
  readonly textOf: (item: StoredItem) => string;
  /** Absolute path of this workspace; `-` without one. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Minimum number of results ranked by their text, after the index ranked them. */
const finalists = 60;
/** The last result that paging reaches. */
const reach = 600;
/** "forget that …" names an item when it has this score and all others score lower by the margin. */
const named = { score: 0.5, margin: 0.8 };
const pageOfList = 200;
const pagesOfList = 25;

/**
 * Searches the memory visible in this workspace. Any string is a valid query, and none is slow: see search-query.ts for the syntax and
 * search-ranking.ts for the ranking. Without a query the newest items come first. Requirement Y6.
 */
export function createMemorySearch(deps: MemorySearchDeps): MemorySearch {
  const { storage, store, textOf, workspace } = deps;
  const now = deps.now ?? Date.now;
  const candidates = createCandidates(storage.db, { workspace, vocabulary: createVocabulary(storage.db, workspace) });

  const fits = (item: StoredItem, request: SearchQuery): boolean => {
    const tags = new Set(item.tags.map((tag) => tag.toLowerCase()));
    if (request.kinds !== undefined && !request.kinds.includes(item.kind)) return false;
    return item.weight >= request.minConfidence && request.tags.every((tag) => tags.has(tag.toLowerCase()));
  };

  const ranked = (request: SearchQuery, wanted: number) => {
    const { asked, seqs } = candidates(parseQuery(request.query), request, Math.max(finalists, Math.ceil(wanted * 1.25)));
    return store
      .bySeq(seqs)
      .filter((item) => fits(item, request))
      .map((item) => {
        const text = textOf(item);
        const relevance = relevanceOf(asked, read(text, item.tags));
        return {
          item,
          text,
          relevance,
          named: namesOf(request.query, text, asked),
          score: Math.round(score(relevance.value, item, request.now) * 1e6) / 1e6,
        };
      })
      .filter(({ score: points }) => points > 0)
      .toSorted(
        (a, b) => b.score - a.score || b.item.updatedAt - a.item.updatedAt || compare(a.text, b.text) || compare(a.item.id, b.item.id),
      );
  };

  const found = (of: { item: StoredItem; text: string; relevance: Relevance; named: boolean; score: number }): Found => ({
    item: of.item,
    text: of.text,
    score: of.score,
    named: of.named,
    snippet: snippetOf(of.text, of.relevance.places),
  });

  const newest = (request: SearchQuery, before: number | null): { found: Found[]; nextCursor?: string } => {
    const items: StoredItem[] = [];
    let last = before;
    for (let page = 0; page < pagesOfList; page += 1) {
      const { tiers, namespace, questId } = request;
      const some = store.list({
        tiers,
        namespace,
        questId,
        now: request.now,
        limit: pageOfList,
        ...(last === null ? {} : { before: last }),
      });
      for (const item of some) {
        if (items.length >= request.limit) break;
        last = item.seq;
        if (fits(item, request)) items.push(item);
      }
      if (some.length < pageOfList && last === (some.at(-1)?.seq ?? last)) return { found: items.map(asFound) };
      if (items.length >= request.limit) break;
    }
    return { found: items.map(asFound), ...(last === null ? {} : { nextCursor: `n:${last}` }) };
  };
  const asFound = (item: StoredItem): Found => {
    const text = textOf(item);
    return { item, text, score: 0, named: false, snippet: snippetOf(text, []) };
  };

  const search = (request: SearchQuery, cursor?: string): { found: Found[]; nextCursor?: string } => {
    const position = readCursor(cursor);
    if (!/[\p{L}\p{N}]/u.test(request.query)) return newest(request, position?.kind === "n" ? position.at : null);
    const from = position?.kind === "r" ? position.at : 0;
    const at: SearchQuery = position?.kind === "r" ? { ...request, now: position.now } : request;
    const until = Math.min(reach, from + request.limit);
    const all = ranked(at, until + 1);
    const page = all.slice(from, until).map(found);
    return all.length > until && until < reach ? { found: page, nextCursor: `r:${until}:${at.now}` } : { found: page };
  };

  return {
    search,
    meant: (text, questId) => {
      const request: SearchQuery = {
        query: text.replaceAll(/["“”„«»*-]/g, " "),
        // Messages and events are a record, so a "forget" command does not match them.
        tiers: MemoryTier.options.filter((tier) => tier !== "episodic"),
        namespace: null,
        tags: [],
        minConfidence: 0,
        limit: 6,
        questId,
        now: now(),
      };
      const all = search(request).found;
      const key = plain(text);
      const same = all.filter((one) => plain(one.text) === key);
      const [first, second] = all;
      const clear =
        first !== undefined && first.score >= named.score && (second === undefined || second.score < first.score * named.margin);
      const item = same.length === 1 ? (same[0]?.item ?? null) : clear ? first.item : null;
      return { item, candidates: all.slice(0, 5).map((one) => one.item) };
    },
  };
}

function plain(text: string): string {
  return fold(text)
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

type Position = { readonly kind: "n"; readonly at: number } | { readonly kind: "r"; readonly at: number; readonly now: number };

function readCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  const newest = /^n:(\d{1,15})$/.exec(cursor);
  if (newest !== null) return { kind: "n", at: Number(newest[1]) };
  const ranked = /^r:(\d{1,4}):(\d{1,15})$/.exec(cursor);
  if (ranked === null) throw new LancelotError("invalid_params", "The cursor is invalid. Start from the first page.");
  return { kind: "r", at: Number(ranked[1]), now: Number(ranked[2]) };
}
