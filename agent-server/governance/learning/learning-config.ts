import * as z from "zod";
import type { SoulSubject, TrustKey } from "../decision-facts.ts";
import { readTable } from "../config-table.ts";
import { tags } from "../action-vocabulary.ts";

const Count = z.int().min(1).max(1_000_000);

const LearningTable = z.strictObject({
  version: z.literal(1),
  evidence: z.strictObject({
    observations: Count,
    days: Count,
    // Less than half would be no agreement at all.
    consistency: z.number().gt(0.5).max(1),
    quests: Count,
    again: Count,
  }),
  rules: z.strictObject({ most: Count, per_day: Count, in_all: Count }),
  wide: z.strictObject({ scopes: Count, never: z.array(z.string().min(1)) }),
  // Empty lists would lift what must never be.
  never_automate: z.strictObject({
    actions: z.array(z.string().regex(/^[a-z_]+\.(?:[a-z_]+|\*)$/)).min(1),
    words: z.array(z.string().regex(/^[a-z]+\*?$/)).min(1),
    tags: z.array(z.enum(tags)).min(1),
  }),
});

/** The numbers and lists of `config/learning.yaml`. */
export type LearningNumbers = z.output<typeof LearningTable>;

/** @throws LancelotError `internal` when the file cannot be used. */
export function loadLearningNumbers(configDir: string): LearningNumbers {
  return readTable(configDir, "learning.yaml", LearningTable);
}

/** What is never automated, as predicates. Nothing may be while the list cannot be used. */
export interface NeverAutomate {
  key(key: TrustKey): boolean;
  subject(subject: SoulSubject): boolean;
}

export function neverAutomate(numbers: LearningNumbers | null): NeverAutomate {
  if (numbers === null) return { key: () => true, subject: () => true };
  const list = numbers.never_automate;
  const actions = new Set(list.actions);
  const forbidden = new Set<string>(list.tags);
  const whole = new Set(list.words.filter((word) => !word.endsWith("*")));
  const stems = list.words.filter((word) => word.endsWith("*")).map((word) => word.slice(0, -1));
  const named = (capability: string, action: string) => actions.has(`${capability}.${action}`) || actions.has(`${capability}.*`);
  const worded = (text: string) => wordsOf(text).some((word) => whole.has(word) || stems.some((stem) => word.startsWith(stem)));
  return {
    key: ({ capability, action, scope }) => named(capability, action) || worded(`${capability} ${action} ${scope}`),
    subject: ({ kind, capability, action, tags: has }) =>
      named(capability, action) || has.some((tag) => forbidden.has(tag)) || worded(`${capability} ${action} ${kind}`),
  };
}

/** `deleteAll`, `delete-all` and `DELETE_ALL` are the words delete and all. */
function wordsOf(text: string): string[] {
  return text
    .normalize("NFKC")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "");
}
