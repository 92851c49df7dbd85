import type { MemoryProblem } from "../../contract/memory.ts";
import type { Redactor, Sanitizer } from "../../security/security.ts";
import type { Author, Gates, ProposedEdit, Verdict } from "../item-types.ts";
import type { MemoryDeps } from "../types.ts";
import type { MemorySettings } from "../memory-settings.ts";
import { checkConfidence } from "./confidence-gate.ts";
import { checkEthics } from "./ethics-gate.ts";
import { checkEvidence } from "./evidence-gate.ts";
import { checkInjection, type InjectionRules } from "./injection-gate.ts";
import { approvalReason } from "./quarantine-gate.ts";
import { scrubEdit } from "./secret-gate.ts";
import { checkShape } from "./shape-gate.ts";
import { checkTarget } from "./target-gate.ts";
import { isRefusal, refuse, type GateStep } from "./gate-step.ts";
import { checkQuarantinedEdit } from "./quarantined-edit-check.ts";

export interface GatesDeps {
  readonly redactor: Redactor;
  readonly sanitizer: Sanitizer | null;
  /** Recognizes instructions (`createInstructionRules`); null: none. */
  readonly instructions?: Sanitizer | null | undefined;
  readonly settings: () => MemorySettings;
  readonly forbids: MemoryDeps["forbids"];
  readonly evidence: MemoryDeps["evidence"];
  /** Receives the reason an edit could not be judged. */
  readonly log?: MemoryDeps["log"] | undefined;
}

/** The checks before an edit is stored (requirement Y4). Both functions return a result for any input. */
export function createGates(deps: GatesDeps): Gates {
  const { redactor, settings, forbids, evidence } = deps;
  const rules: InjectionRules = { sanitizer: deps.sanitizer, instructions: deps.instructions ?? null };

  const judge = (proposed: ProposedEdit, author: Author): Verdict => {
    const steps: readonly ((input: Exclude<GateStep, Verdict>) => GateStep)[] = [
      checkTarget,
      (input) => checkEvidence(input, evidence),
      (input) => scrubEdit(input, redactor),
      (input) => checkEthics(input, forbids),
      (input) => checkInjection(input, rules),
      (input) => checkConfidence(input, settings()),
    ];
    let step = checkShape(proposed, author, settings());
    for (const gate of steps) {
      if (isRefusal(step)) return step;
      step = gate(step);
    }
    if (isRefusal(step)) return step;
    const why = approvalReason(step);
    return why === null
      ? { kind: "store", edit: step.edit, notes: step.notes }
      : { kind: "quarantine", edit: step.edit, notes: step.notes, why };
  };

  return {
    judge(edit, author) {
      try {
        return scrubbedRefusal(judge(edit, author), redactor);
      } catch (error) {
        deps.log?.("an edit of memory could not be judged", error);
        return refuse("memory.unjudged", "The memory checks failed on this edit, so it was not saved.", "State it in plain words.");
      }
    },
    verify(entry): MemoryProblem[] {
      try {
        return checkQuarantinedEdit(entry, { redactor, rules, forbids, evidence });
      } catch (error) {
        deps.log?.("a quarantined edit could not be judged", error);
        return [{ rule: "memory.unjudged", message: "The memory checks failed on this edit." }];
      }
    },
  };
}

/** A refusal quotes the text, and goes into receipts and to the model. */
function scrubbedRefusal(verdict: Verdict, redactor: Redactor): Verdict {
  if (verdict.kind !== "refuse") return verdict;
  return { ...verdict, problem: { rule: verdict.problem.rule, message: redactor.text(verdict.problem.message).text } };
}
