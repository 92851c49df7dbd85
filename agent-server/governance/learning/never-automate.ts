import type { SoulSubject, TrustKey } from "../decision-facts.ts";
import type { LearningConfig } from "./learning-config.ts";

/** Predicates for actions that are never automated. Without a usable list that is every action. */
export interface NeverAutomate {
  key(key: TrustKey): boolean;
  subject(subject: SoulSubject): boolean;
}

export function neverAutomate(config: LearningConfig | null): NeverAutomate {
  if (config === null) return { key: () => true, subject: () => true };
  const list = config.never_automate;
  const actions = new Set(list.actions);
  const forbidden = new Set<string>(list.tags);
  const whole = new Set(list.words.filter((word) => !word.endsWith("*")));
  const stems = list.words.filter((word) => word.endsWith("*")).map((word) => word.slice(0, -1));
  const named = (capability: string, action: string) => actions.has(`${capability}.${action}`) || actions.has(`${capability}.*`);
  const containsWord = (text: string) => wordsOf(text).some((word) => whole.has(word) || stems.some((stem) => word.startsWith(stem)));
  return {
    key: ({ capability, action, scope }) => named(capability, action) || containsWord(`${capability} ${action} ${scope}`),
    subject: ({ kind, capability, action, tags: has }) =>
      named(capability, action) || has.some((tag) => forbidden.has(tag)) || containsWord(`${capability} ${action} ${kind}`),
  };
}

/** Splits identifiers: `deleteAll`, `delete-all` and `DELETE_ALL` become `delete` and `all`. */
function wordsOf(text: string): string[] {
  return text
    .normalize("NFKC")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "");
}
