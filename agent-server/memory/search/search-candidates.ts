import type Database from "better-sqlite3";
import type { MemoryKind, MemoryTier } from "../../contract/memory.ts";
import { compare } from "../core-block-text.ts";
import type { SearchQuery } from "../item-types.ts";
import { type TermMatches, matchesOf, guessedMatchesOf } from "./term-matches.ts";
import { namespaceFacet, tagFacet, tierFacet, workspaceFacet } from "./index-facets.ts";
import type { Query, Term } from "./search-query.ts";
import { rarity, score } from "./search-ranking.ts";
import type { Vocabulary } from "./index-vocabulary.ts";

/** A query term with its matches and importance. */
export interface QueryTerm {
  readonly term: Term;
  readonly answers: TermMatches;
  readonly counts: number;
  /** True when only a few items have it, as it is written. */
  readonly rare: boolean;
}

/** Most items that have a rare word. */
const rareItems = 3;
/**
 * Rows that one word may add: a fixed number, or an equal share when there are many words. For a frequent word the
 * newest rows are read, plus all rows that also have the other words.
 */
const rowsOfWord = { most: 1_000, ofAll: 4_000, least: 200 };
/** Words that are combined in one query; longer texts are not questions. */
const wordsTogether = 6;
/** Rows of frequent words that are read when rarer words matched others. */
const rowsOfCommonWord = 300;
const rowsInAll = 1_500;
/** With so many rows, pairs of frequent words are not queried. */
const enough = 12;
const rowsAtOnce = 250;
const guessedTerms = 6;

interface Row {
  readonly seq: number;
  readonly weight: number;
  readonly updatedAt: number;
  readonly tier: MemoryTier;
  readonly kind: MemoryKind;
  readonly textKey: string;
}

interface Posting extends QueryTerm {
  readonly seqs: readonly number[];
  /** True when more items match than were read. */
  readonly common: boolean;
}

export interface Candidates {
  readonly asked: readonly QueryTerm[];
  /** Best first, by the index alone. */
  readonly seqs: readonly number[];
}

/**
 * The rows that may match a query. The cost does not grow with the number of items that have a frequent word: each word adds a
 * bounded number of rows, rare ones first, and frequent words only add rows with several of them.
 */
export function createCandidates(db: Database.Database, of: { readonly workspace: string; readonly vocabulary: Vocabulary }) {
  const matching = db.prepare<[string, number], number>(
    "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rowid DESC LIMIT ?",
  );
  matching.pluck();
  const size = db.prepare<[string], number | null>("SELECT sum(items) FROM memory_sizes WHERE workspace IN ('', ?)").pluck();
  const others = db.prepare<[string], number | null>("SELECT sum(items) FROM memory_sizes WHERE workspace NOT IN ('', ?)").pluck();
  const seen = db
    .prepare<[Record<string, string | number | null>], [number, number, number, MemoryTier, MemoryKind, string]>(
      `SELECT m.seq, m.weight, m.updated_at, m.tier, m.kind, m.text_key FROM json_each(@seqs) AS j CROSS JOIN memory_items AS m ON m.seq = j.value
       WHERE m.workspace IN ('', @workspace) AND (m.expires_at IS NULL OR m.expires_at > @now) AND m.weight >= @minConfidence
         AND instr(@tiers, m.tier) > 0 AND (@kinds IS NULL OR instr(@kinds, m.kind) > 0) AND (@namespace IS NULL OR m.namespace = @namespace)
         AND (@questId IS NULL OR m.tier <> 'working' OR m.namespace NOT LIKE 'quest:%' OR m.namespace = 'quest:' || @questId)`,
    )
    .raw();

  const visible = (seqs: readonly number[], request: SearchQuery): Row[] =>
    seen
      .all({
        seqs: JSON.stringify(seqs),
        workspace: of.workspace,
        now: request.now,
        minConfidence: request.minConfidence,
        tiers: request.tiers.join(" "),
        kinds: request.kinds?.join(" ") ?? null,
        namespace: request.namespace,
        questId: request.questId,
      })
      .map(([seq, weight, updatedAt, tier, kind, textKey]) => ({ seq, weight, updatedAt, tier, kind, textKey }));

  /** The required part of a row, as an index expression. */
  const frame = (query: Query, request: SearchQuery, narrow: boolean): ((expression: string) => string) => {
    const phrases = query.phrases.map((stems) => `"${stems.join(" ")}"`);
    const tags = request.tags.map((tag) => `"${tagFacet(tag)}"`);
    const alone = (others.get(of.workspace) ?? 0) === 0;
    const places = placesOf(request, of.workspace, { alone, narrow });
    const excluded = query.excluded.map((stems) => `"${stems.join(" ")}"`).join(" OR ");
    return (expression) => {
      const all = [...(expression === "" ? [] : [`(${expression})`]), ...phrases, ...tags, ...places].join(" AND ");
      return excluded === "" ? all : `(${all}) NOT (${excluded})`;
    };
  };

  const gather = (query: Query, request: SearchQuery, narrow: boolean) => {
    const framed = frame(query, request, narrow);
    const fetch = (expression: string, limit: number): number[] => matching.all(framed(expression), limit);
    const items = sizeOf(size.get(of.workspace) ?? 0);
    const rowsEach = Math.max(rowsOfWord.least, Math.min(rowsOfWord.most, Math.floor(rowsOfWord.ofAll / query.terms.length)));
    let guesses = 0;
    const postings = query.terms.map((term): Posting => {
      const said = matchesOf(term, of.vocabulary);
      let answers = said;
      let seqs = fetch(anyOf(answers), rowsEach + 1);
      if (seqs.length === 0 && guesses < guessedTerms && query.terms.length <= 12) {
        guesses += 1;
        const guessed = guessedMatchesOf(term, of.vocabulary);
        if (guessed.size > 0) {
          answers = new Map([...answers, ...guessed]);
          seqs = fetch(anyOf(guessed), rowsEach + 1);
        }
      }
      const rare = seqs.length === 0 ? rarity(items, 1) * (term.pair ? 0.1 : 0.7) : rarity(items, frequency(seqs, rowsEach, items));
      const counts = rare * term.importance;
      const isSaid = seqs.length > 0 && answers.size <= said.size;
      return { term, answers, seqs, counts, common: seqs.length > rowsEach, rare: isSaid && seqs.length <= rareItems };
    });

    const relevances = new Map<number, number>();
    const add = (seqs: readonly number[], counts: number): void => {
      for (const seq of seqs) relevances.set(seq, (relevances.get(seq) ?? 0) + counts);
    };
    const found = postings.filter(({ seqs }) => seqs.length > 0);
    const common = found.filter((posting) => posting.common);
    for (const posting of found) if (!posting.common) add(posting.seqs, posting.counts);
    const together = (some: readonly Posting[]): void => {
      const counts = some.reduce((sum, posting) => sum + posting.counts, 0);
      const all = fetch(some.map(({ answers }) => `(${anyOf(answers)})`).join(" AND "), rowsOfWord.most);
      for (const seq of all) relevances.set(seq, Math.max(relevances.get(seq) ?? 0, counts));
    };
    if (common.length > 0 && found.length > 1 && found.length <= wordsTogether) together(found);
    const long = found.length > wordsTogether;
    const identifiers = long ? [...new Set(found.flatMap(({ term }) => term.joined))] : [];
    for (const identifier of identifiers) {
      const counts = found.reduce((sum, posting) => sum + (posting.term.joined.includes(identifier) ? posting.counts : 0), 0);
      for (const seq of fetch(`"${identifier}"`, rowsEach)) relevances.set(seq, Math.max(relevances.get(seq) ?? 0, counts));
    }
    const rarest = common.toSorted((x, y) => y.counts - x.counts).slice(0, 3);
    if (!long && relevances.size < enough && rarest.length > 1) {
      for (const [index, one] of rarest.entries()) for (const other of rarest.slice(index + 1)) together([one, other]);
    }
    for (const { seqs, counts } of common) {
      for (const seq of seqs.slice(0, relevances.size === 0 ? rowsInAll : rowsOfCommonWord)) {
        if (!relevances.has(seq)) relevances.set(seq, counts);
      }
    }
    if (query.terms.length === 0) add(fetch("", rowsInAll), 1);
    return { postings, relevances };
  };

  /** Scores rows by relevance until no later one can be a finalist. */
  const rank = (best: readonly [seq: number, relevance: number][], total: number, request: SearchQuery, finalists: number) => {
    let ranked: { row: Row; score: number }[] = [];
    let looked = 0;
    while (looked < best.length) {
      const next = best.slice(looked, looked + rowsAtOnce);
      const last = ranked[finalists - 1];
      // A score never exceeds the relevance.
      if (last !== undefined && (next[0]?.[1] ?? 0) / total < last.score) break;
      looked += next.length;
      const relevances = new Map(next);
      const rows = visible([...relevances.keys()], request);
      ranked.push(...rows.map((row) => ({ row, score: score((relevances.get(row.seq) ?? 0) / total, row, request.now) })));
      ranked = ranked.toSorted(
        (a, b) => b.score - a.score || b.row.updatedAt - a.row.updatedAt || compare(a.row.textKey, b.row.textKey) || b.row.seq - a.row.seq,
      );
    }
    return { ranked, looked };
  };

  return (query: Query, request: SearchQuery, finalists: number): Candidates => {
    if (query.terms.length === 0 && query.phrases.length === 0) return { asked: [], seqs: [] };
    let narrow = false;
    for (;;) {
      const { postings, relevances } = gather(query, request, narrow);
      const total = postings.reduce((sum, { counts }) => sum + counts, 0) || 1;
      const best = [...relevances].toSorted(([a, first], [b, second]) => second - first || b - a).slice(0, rowsInAll);
      const { ranked, looked } = rank(best, total, request, finalists);
      // Invisible items used up the limit, so the query is repeated on visible items.
      if (!narrow && relevances.size >= rowsOfCommonWord && ranked.length < looked / 2) {
        narrow = true;
        continue;
      }
      return { asked: postings, seqs: ranked.slice(0, finalists).map(({ row }) => row.seq) };
    }
  };
}

const anyOf = (answers: TermMatches): string => [...answers.keys()].map((one) => `"${one}"`).join(" OR ");

function placesOf(request: SearchQuery, workspace: string, { alone, narrow }: { alone: boolean; narrow: boolean }): string[] {
  const any = (facets: readonly string[]): string => `(${facets.map((facet) => `"${facet}"`).join(" OR ")})`;
  return [
    ...(alone ? [] : [any([workspaceFacet(""), workspaceFacet(workspace)])]),
    ...(narrow && request.tiers.length < 4 ? [any(request.tiers.map(tierFacet))] : []),
    ...(!narrow || request.namespace === null ? [] : [any([namespaceFacet(request.namespace)])]),
  ];
}

/** In steps, so that one item does not change the order of the others. */
function sizeOf(items: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1_024, items)));
}

/** The number of items with a word. For a frequent word it is estimated from the age of the newest rows, in steps. */
function frequency(seqs: readonly number[], most: number, items: number): number {
  const [first, last] = [seqs[0], seqs.at(-1)];
  if (seqs.length <= most || first === undefined || last === undefined) return seqs.length;
  const share = seqs.length / Math.max(seqs.length, first - last + 1);
  return Math.min(items, seqs.length * 2 ** Math.round(Math.log2(Math.max(1, (items * share) / seqs.length))));
}
