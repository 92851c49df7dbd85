import * as z from "zod";
import type { LocalTasks } from "../../models/models.ts";
import type { TimelineMessage } from "../../memory/memory.ts";
import { ownWords, saidForThisTask } from "./memory-orders.ts";

/** What a model found in the owner's words, with the words it rests on. */
export interface QuotedFact {
  readonly content: string;
  readonly messageId: string;
}

/** UTF-16 units of the owner's words that are looked at, the latest first. */
const looked = 6_000;
const maxFacts = 3;

const Facts = z.object({
  facts: z
    .array(
      z.object({
        fact: z.string().describe("one sentence that stays true after this task"),
        quote: z.string().describe("the words it rests on, copied exactly"),
      }),
    )
    .max(maxFacts),
});

/**
 * Facts, rules and preferences that a local model finds in what the owner said. What it does not quote word for word, and what says
 * more than its quote, is dropped. Nothing but the owner's words is shown to it.
 */
export async function quotedFacts(
  extract: LocalTasks["extractJson"],
  said: readonly Pick<TimelineMessage, "id" | "text">[],
  of: { questId: string; parentId: string | null; signal: AbortSignal },
): Promise<QuotedFact[]> {
  const own = said.map(({ id, text }) => ({ id, text: ownWords(text) })).filter(({ text }) => text !== "");
  const text = own
    .map((one) => one.text)
    .join("\n\n")
    .slice(-looked)
    .toWellFormed();
  if (text === "") return [];
  const { value, method } = await extract(text, z.toJSONSchema(Facts), of);
  const parsed = Facts.safeParse(value);
  if (method !== "model" || !parsed.success) return [];
  return parsed.data.facts.flatMap(({ fact, quote }) => {
    const found = own.find((one) => quote.trim().length >= 8 && flat(one.text).includes(flat(quote)));
    const content = fact.trim().replaceAll(/\s+/g, " ");
    if (found === undefined || content.length > 300 || /[?？]\s*$/.test(quote) || saidForThisTask(quote) || !restsOn(content, quote))
      return [];
    return [{ content, messageId: found.id }];
  });
}

function flat(text: string): string {
  return text.normalize("NFKC").trim().replaceAll(/\s+/g, " ").toLowerCase();
}

/** Every number and every word that carries meaning stands in the quote, at least by its stem. */
function restsOn(content: string, quote: string): boolean {
  const said = wordsOf(quote);
  const stems = new Set(said.map((word) => word.slice(0, 5)));
  return wordsOf(content).every((word) =>
    /\d/.test(word) ? said.includes(word) : word.length < 4 || stems.has(word.slice(0, 5)) || frame.has(word),
  );
}

/** Words that frame a fact and claim nothing. */
const frame: ReadonlySet<string> = new Set([
  "owner",
  "project",
  "team",
  "that",
  "with",
  "they",
  "their",
  "this",
  "uses",
  "wants",
  "prefers",
]);

function wordsOf(text: string): string[] {
  return (
    flat(text)
      .match(/[\p{L}\p{N}][\p{L}\p{N}_.:/@-]*/gu)
      ?.map((word) => word.replace(/[.:/-]+$/, "")) ?? []
  );
}
