import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import type { ItemImage, MemorySearch, MemoryStore } from "../../../agent-server/memory/item-types.ts";
import { corpus, corpusWorkspace } from "./corpus.ts";

const folder = join(import.meta.dirname, "../../fixtures/memory-recall");

const File = z.strictObject({
  facts: z.array(
    z.union([
      z.tuple([z.string(), z.iso.date(), z.string()]),
      z.tuple([z.string(), z.iso.date(), z.string(), z.string().regex(/^(?:replaces|outdates) \w+$/)]),
    ]),
  ),
  questions: z.array(z.tuple([z.string(), z.union([z.string(), z.array(z.string())])])),
});

export interface RecallFact {
  readonly id: string;
  readonly at: number;
  readonly text: string;
  /** The earlier fact whose item was rewritten with this text. */
  readonly replaces: string | null;
  /** The earlier fact that is remembered still, and no longer true. */
  readonly outdates: string | null;
}

export interface RecallQuestion {
  readonly file: string;
  readonly ask: string;
  /** Facts that answer; none when nothing that is remembered does. */
  readonly answers: readonly string[];
}

/** Labelled questions about what was remembered over a year, by hand. */
export function recallSet(): { facts: RecallFact[]; questions: RecallQuestion[] } {
  const facts: RecallFact[] = [];
  const questions: RecallQuestion[] = [];
  for (const name of readdirSync(folder).toSorted()) {
    const file = File.parse(parse(readFileSync(join(folder, name), "utf8")));
    for (const [id, date, text, change] of file.facts) {
      const [how, which] = change?.split(" ") ?? [];
      const earlier = which ?? null;
      facts.push({
        ...{ id, text, at: Date.parse(date) },
        replaces: how === "replaces" ? earlier : null,
        outdates: how === "outdates" ? earlier : null,
      });
    }
    for (const [ask, answers] of file.questions)
      questions.push({ file: name.replace(".yaml", ""), ask, answers: answers === "none" ? [] : [answers].flat() });
  }
  return { facts, questions };
}

const Requests = z.strictObject({
  named: z.array(z.tuple([z.string(), z.union([z.string(), z.array(z.string())])])),
  none: z.array(z.string()),
});

/** Requests, instead of questions, over the same facts: they name a thing among ordinary words, or share only ordinary words with facts. */
export function requestSet(): ReturnType<typeof recallSet> {
  const file = join(import.meta.dirname, "../../fixtures/memory-requests/requests.yaml");
  const { named, none } = Requests.parse(parse(readFileSync(file, "utf8")));
  return {
    facts: recallSet().facts,
    questions: [
      ...named.map(([ask, answers]) => ({ file: "named", ask, answers: [answers].flat() })),
      ...none.map((ask) => ({ file: "none", ask, answers: [] })),
    ],
  };
}

export const recallNow = Date.UTC(2025, 9, 1);

/** Other things that are remembered: three thousand facts of another product, and what other workspaces remember. */
const distractors = 3_000;

/** Remembers the facts as they came to be known, rewriting what they replace, among the distractors. Ids of items by fact. */
export function remember(store: Pick<MemoryStore, "put">, facts: readonly RecallFact[]): Map<string, string> {
  const shift = recallNow - Date.UTC(2026, 10, 1);
  for (const item of corpus(distractors, 3))
    store.put(item.id, { ...item, createdAt: item.createdAt + shift, updatedAt: item.updatedAt + shift });
  const items = new Map<string, string>();
  for (const { id, at, text, replaces } of facts.toSorted((a, b) => a.at - b.at)) {
    const item = (replaces === null ? null : items.get(replaces)) ?? `fact-${id}`;
    items.set(id, item);
    store.put(item, image(item, text, at));
  }
  return items;
}

function image(id: string, content: string, at: number): ItemImage {
  return {
    ...{ id, content, createdAt: at, updatedAt: at },
    ...{ tier: "archival", block: null, namespace: "workspace", workspace: corpusWorkspace, kind: "fact", ref: null },
    ...{ confidence: 0.8, tags: [], provenance: { source: "user" }, questId: null, commitId: "recall", version: 1, expiresAt: null },
  };
}

export interface Recalled {
  readonly question: RecallQuestion;
  /** Place of the first answer among what was put forward, from 1; null when none was. */
  readonly place: number | null;
  /** What was put forward that is wrong, and why. */
  readonly wrong: "superseded" | "unknown" | null;
  readonly first: string | null;
}

export interface RecallFigures {
  readonly questions: number;
  /** Questions with an answer of which one is among the first five. */
  readonly recallAt5: number;
  /** The same, of which one is among all that was put forward: of a compiled context, which is read whole. */
  readonly recall: number;
  readonly precisionAt1: number;
  /** Mean of 1 / place. */
  readonly meanReciprocalRank: number;
  /** Of all questions: a superseded value is put forward where the current one is not, or before it; or anything is, where nothing answers. */
  readonly wrong: number;
  readonly wrongSuperseded: number;
  readonly wrongUnknown: number;
}

export interface PutForward {
  readonly itemId: string;
  readonly text: string;
}

/**
 * Judges what is put forward for each question, best first. `seen`: what a question with an answer is given; `certain`: what it takes
 * for an answer, which is what counts where nothing answers.
 */
export function judge(
  set: ReturnType<typeof recallSet>,
  items: ReadonlyMap<string, string>,
  ask: (question: string) => { readonly seen: readonly PutForward[]; readonly certain: readonly PutForward[] },
): Recalled[] {
  const outdated = new Map<string, string[]>();
  const byId = new Map(set.facts.map((fact) => [fact.id, fact]));
  for (const fact of set.facts) {
    const old: string[] = [];
    let earlier = fact.replaces ?? fact.outdates;
    while (earlier !== null) {
      const before = byId.get(earlier);
      if (before === undefined) throw new Error(`${fact.id} names ${earlier}, which is no fact.`);
      old.push(before.text);
      earlier = before.replaces ?? before.outdates;
    }
    outdated.set(fact.id, old);
  }
  return set.questions.map((question): Recalled => {
    const { seen, certain } = ask(question.ask);
    const wanted = new Set(
      question.answers.map((answer) => {
        const item = items.get(answer);
        if (item === undefined) throw new Error(`${question.ask}: there is no fact ${answer}.`);
        return item;
      }),
    );
    const at = seen.findIndex(({ itemId }) => wanted.has(itemId));
    const old = new Set(question.answers.flatMap((answer) => outdated.get(answer) ?? []));
    const oldAt = seen.findIndex(({ text }) => old.has(text));
    const superseded = oldAt >= 0 && (at < 0 || oldAt < at);
    const unknown = wanted.size === 0 && certain.length > 0;
    return {
      question,
      place: at < 0 ? null : at + 1,
      wrong: superseded ? "superseded" : unknown ? "unknown" : null,
      first: seen[0]?.text ?? null,
    };
  });
}

export function figuresOf(recalled: readonly Recalled[]): RecallFigures {
  const known = recalled.filter(({ question }) => question.answers.length > 0);
  const share = (some: readonly unknown[], of: readonly unknown[]): number => (of.length === 0 ? 0 : some.length / of.length);
  return {
    questions: recalled.length,
    recall: share(
      known.filter(({ place }) => place !== null),
      known,
    ),
    recallAt5: share(
      known.filter(({ place }) => place !== null && place <= 5),
      known,
    ),
    precisionAt1: share(
      known.filter(({ place }) => place === 1),
      known,
    ),
    meanReciprocalRank: known.reduce((sum, { place }) => sum + (place === null ? 0 : 1 / place), 0) / Math.max(1, known.length),
    wrong: share(
      recalled.filter(({ wrong }) => wrong !== null),
      recalled,
    ),
    wrongSuperseded: share(
      recalled.filter(({ wrong }) => wrong === "superseded"),
      recalled,
    ),
    wrongUnknown: share(
      recalled.filter(({ wrong }) => wrong === "unknown"),
      recalled.filter(({ question }) => question.answers.length === 0),
    ),
  };
}

/** Asks the search: ten finds; those from `minScore` on count as certain. */
export function askSearch(search: Pick<MemorySearch, "search">, minScore: number) {
  return (query: string): { seen: PutForward[]; certain: PutForward[] } => {
    const { found } = search.search({
      ...{ query, namespace: null, tags: [], minConfidence: 0, limit: 10, questId: null, now: recallNow },
      tiers: ["core", "working", "episodic", "archival"],
    });
    const put = found.map(({ item, text, score }) => ({ itemId: item.id, text, score }));
    return { seen: put, certain: put.filter(({ score }) => score >= minScore) };
  };
}

/** Compiles with the question for an objective: what went in, in its order, is what is put forward and taken for certain. */
export function askCompiled(fixture: {
  compile(options: { readonly objective: string }): { readonly includedItemIds: readonly string[] };
  readonly store: Pick<MemoryStore, "get">;
}) {
  return (objective: string): { seen: PutForward[]; certain: PutForward[] } => {
    const put = fixture
      .compile({ objective })
      .includedItemIds.map((itemId) => ({ itemId, text: fixture.store.get(itemId)?.content ?? "" }));
    return { seen: put, certain: put };
  };
}
