import type { LearnedPattern } from "../../contract/trust.ts";
import type { TrustKey } from "../decision-facts.ts";

/** The patterns that cover a key, most specific first. */
export function patternsOf({ capability, action, scope }: TrustKey): LearnedPattern[] {
  return [
    { capability, action, scope },
    { capability, action, scope: null },
  ];
}

/** A pattern as a map key. */
export function patternKey({ capability, action, scope }: LearnedPattern): string {
  return scope === null ? `${capability}\0${action}` : `${capability}\0${action}\0${scope}`;
}
