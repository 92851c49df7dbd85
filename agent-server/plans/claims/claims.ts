import type { UnbackedClaim } from "../../contract/chat.ts";
import type { AnswerEvidence, ClaimCheck } from "../../quests/quests.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import { announcementOf } from "./announcements.ts";
import { type Sentence, sentencesOf } from "./answer-sentences.ts";
import type { Claim } from "./claim-words.ts";
import { type Recorded, recordedOf, type ReadTestReport, type Restored } from "./evidence.ts";
import { judgeClaim } from "./judge-claim.ts";
import { languages } from "./languages/languages.ts";
import { compareActions } from "./reported-actions.ts";
import { testClaims } from "./test-claims.ts";
import { workClaims } from "./work-claims.ts";

/** So many corrections of one answer are shown. */
const maxClaims = 20;

export interface ClaimCheckDeps {
  /** The flag CLAIM_VERIFICATION. */
  readonly enabled: () => boolean;
  readonly ledger: Pick<Ledger, "search">;
  /** Whether a command runs the tests of the project. */
  readonly runsTests: (command: string, cwd: string) => boolean;
  readonly readReport: ReadTestReport;
}

/** Creates the check of answers against what is recorded (requirement A8). It reads and never writes. */
export function createClaimCheck({ enabled, ledger, runsTests, readReport }: ClaimCheckDeps): ClaimCheck {
  const recorded = (evidence: AnswerEvidence): Recorded =>
    recordedOf(evidence, { readReport, runsTests, restores: restoresOf(ledger, evidence.questId) });
  return {
    unbacked: (answer, evidence) => (enabled() ? unbackedClaims(answer, () => recorded(evidence)) : []),
    announcement: (answer) => (enabled() ? announcementOf(answer) : null),
    outcome: (actions, evidence) => compareActions(actions, recorded(evidence)),
  };
}

/** The statements of an answer about work that `recorded` does not back. It is read only when the answer states any. */
export function unbackedClaims(answer: string, recorded: () => Recorded): UnbackedClaim[] {
  const claims = claimsOf(answer);
  if (claims.length === 0) return [];
  const known = recorded();
  return claims
    .flatMap((claim): UnbackedClaim[] => {
      const reason = judgeClaim(claim, known);
      return reason === null ? [] : [{ kind: claim.kind, text: claim.text, reason }];
    })
    .slice(0, maxClaims);
}

/** All statements of an answer about work that its writer did. */
export function claimsOf(answer: string): Claim[] {
  return sentencesOf(answer).flatMap((sentence) => {
    if (sentence.isQuestion || isAdvice(sentence)) return [];
    for (const language of languages) {
      const found = [...workClaims(sentence, language), ...testClaims(sentence, language)];
      if (found.length > 0) return found;
    }
    return [];
  });
}

/** Items under "Next steps" and the like tell what could be done. */
function isAdvice({ heading }: Sentence): boolean {
  if (heading === "") return false;
  const words = heading.split(/\s+/).slice(0, 4);
  return languages.some((language) => words.some((word) => language.planHeadings.has(word)));
}

function restoresOf(ledger: Pick<Ledger, "search">, questId: string): Restored[] {
  return ledger.search({ questId, actionType: "file_op", status: "success", limit: 500 }).items.flatMap((receipt) => {
    if (receipt.actionName !== "checkpoint_restore") return [];
    const paths = receipt.inputs["paths"];
    return Array.isArray(paths) ? [{ paths: paths.filter((path) => typeof path === "string"), at: receipt.timestamp }] : [];
  });
}
