import * as z from "zod";
import type { PiiMatch } from "../../security/security.ts";
import { askModel } from "./ask-model.ts";
import type { Task } from "./task-runner.ts";
import type { TaskServices } from "./task-services.ts";

const Found = z.object({ people: z.array(z.string()).max(20), places: z.array(z.string()).max(20) });

/** Longer texts are left to the rules: a small model misses names in them and takes minutes (characters). */
const longest = 6_000;

/**
 * Personal data in a text: always by rules, and names and addresses that a loaded model finds in addition. A model's finding counts only if it
 * occurs in the text and could be a name.
 */
export function redactTask(parts: TaskServices, text: string): Task<PiiMatch[]> {
  const byRules = parts.pii.find(text);
  const method = parts.modelMethod("redact", { quick: true, text });
  return {
    name: "redact",
    // Without the text, which may contain data that must not be stored.
    inputs: { characters: text.length, byRules: byRules.length },
    methods: [
      {
        ...method,
        unfit: text.length > longest ? "The text is too long for a model to find names in it." : method.unfit,
        timeoutMs: 30_000,
        async work(signal) {
          const system =
            "List the names of people, and the postal addresses, that stand in the text. Copy each exactly. Not companies, products, libraries, or names in code. Empty lists where there are none. Answer as JSON.";
          const answer = await askModel(parts.stream, { system, text, schema: z.toJSONSchema(Found), maxTokens: 300 }, signal);
          if (answer.failed !== null) return { value: null, why: answer.failed, usage: answer.usage };
          const { people, places } = Found.parse(answer.value);
          const value = merge(byRules, [
            ...people.flatMap((name) => placesOf(text, name, "person")),
            ...places.flatMap((place) => placesOf(text, place, "address")),
          ]);
          return { value, usage: answer.usage, outputs: { found: value.length, byModel: value.length - byRules.length } };
        },
      },
    ],
    rules: () => ({ value: byRules, outputs: { found: byRules.length } }),
  };
}

/** The positions of a name; none for text that cannot be a name. */
export function placesOf(text: string, name: string, kind: "person" | "address"): PiiMatch[] {
  const wanted = name.trim();
  if (wanted.length < 3 || wanted.length > 120 || /[_=(){}[\]<>;|\\/@]|^\P{Lu}*$/u.test(wanted)) return [];
  // A single word is a name only with a capital letter.
  if (kind === "person" && !/^\p{Lu}[\p{L}'’-]+(?:[ .]+[\p{L}'’-]+){0,6}\.?$/u.test(wanted)) return [];
  if (kind === "address" && !(/\d/.test(wanted) && /\p{L}{3}/u.test(wanted))) return [];
  const escaped = wanted.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = new RegExp(String.raw`(?<![\p{L}\p{N}_.$])${escaped}(?![\p{L}\p{N}_(]|\.\p{L})`, "gu");
  return Array.from(text.matchAll(pattern), ({ index }) => ({ start: index, end: index + wanted.length, kind }));
}

/** Merges both in order; of overlapping matches, the first one counts. */
function merge(first: readonly PiiMatch[], more: readonly PiiMatch[]): PiiMatch[] {
  const kept = [...first];
  for (const match of more) if (!kept.some(({ start, end }) => match.start < end && start < match.end)) kept.push(match);
  return kept.toSorted((one, other) => one.start - other.start);
}
