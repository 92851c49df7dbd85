import { hash } from "node:crypto";
import type { SoulDocument } from "../../contract/soul.ts";
import type { Redactor } from "../../security/security.ts";
import type { ActiveSoul, SoulSubject } from "../decision-facts.ts";
import { compileMemoryEthics } from "./memory-ethics.ts";
import { type Coverage, covers, type SoulTerms } from "./soul-terms.ts";

/** A valid soul: its activated YAML and the parsed document. */
export interface SoulText {
  readonly version: string;
  readonly yaml: string;
  readonly document: SoulDocument;
}

export function soulHash(yaml: string): string {
  return hash("sha256", yaml, "hex");
}

/**
 * Compiles a soul for the gate. Terms that require approval match broadly and terms that allow match exactly
 * (config/governance.yaml), so that a vague term can only make the soul stricter (requirement S2).
 */
export function compileSoul(soul: SoulText, terms: SoulTerms, redactor: Pick<Redactor, "text">): ActiveSoul {
  const { document } = soul;
  const requiring = compileTerms(document.autonomy_posture.requires_approval, terms.approvalCoverage);
  const allowed = compileTerms(document.autonomy_posture.allowed_autonomous, terms.autonomousCoverage);
  const rules = document.risk_rules
    .filter((rule) => rule.enforced)
    .map((rule) => ({
      summary: { name: rule.name, description: rule.description },
      terms: compileTerms(rule.applies_to ?? [rule.name], terms.approvalCoverage),
    }));
  return {
    version: soul.version,
    sha256: soulHash(soul.yaml),
    document: freeze(document),
    requiresApproval: (subject) => firstCoveringTerm(requiring, subject),
    riskRules: (subject) => rules.filter((rule) => firstCoveringTerm(rule.terms, subject) !== null).map((rule) => rule.summary),
    allows: (subject) => firstCoveringTerm(allowed, subject),
    forbidsMemory: compileMemoryEthics(document.memory_ethics, redactor),
    tone: {
      noSilentFailure: document.tone_invariants.some(forbidsHiding),
      sourcesRequired: document.tone_invariants.some((sentence) => /\b(?:sources?|cit(?:e|es|ed|ing|ations?)|urls?)\b/i.test(sentence)),
    },
  };
}

interface CompiledTerm {
  readonly term: string;
  readonly coverage: Coverage;
}

function compileTerms(terms: readonly string[], meaning: (term: string) => Coverage | null): CompiledTerm[] {
  return terms.flatMap((term) => {
    const coverage = meaning(term);
    return coverage === null ? [] : [{ term, coverage }];
  });
}

function firstCoveringTerm(terms: readonly CompiledTerm[], subject: SoulSubject): string | null {
  for (const { term, coverage } of terms) if (covers(coverage, subject)) return term;
  return null;
}

/** True for a sentence that mentions both hiding and failures. */
function forbidsHiding(sentence: string): boolean {
  return /suppress|silent|hid(?:e|den|ing)|conceal|gloss|swallow/i.test(sentence) && /degrad|error|fail/i.test(sentence);
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}
