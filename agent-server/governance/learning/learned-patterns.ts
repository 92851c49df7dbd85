import type { LearnedPattern } from "../../contract/trust.ts";
import type { TrustKey } from "../decision-facts.ts";

/** A key as patterns, the most specific first. */
export function patternsOf({ capability, action, scope }: TrustKey): LearnedPattern[] {
  return [
    { capability, action, scope },
    { capability, action, scope: null },
  ];
}

/** A pattern as the key of a map. */
export function patternText({ capability, action, scope }: LearnedPattern): string {
  return scope === null ? `${capability}\0${action}` : `${capability}\0${action}\0${scope}`;
}
