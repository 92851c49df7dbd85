import type { DecisionObserver } from "./authorize.ts";
import type { Evaluation } from "./decide.ts";
import type { Learning } from "./learning/learning.ts";
import type { OutcomeReport, OutcomeStep } from "./outcome-report.ts";
import type { Stats } from "./decision-stats.ts";
import type { Trust } from "./trust/trust.ts";

interface Observers {
  readonly trust: Pick<Trust, "outcome">;
  readonly learning: Pick<Learning, "observe" | "used" | "outcome">;
}

/** Passes decisions and the owner's answers to statistics, learning and trust. */
export function createOutcomeRecorder({ stats, trust, learning }: Observers & { readonly stats: Pick<Stats, "count"> }): DecisionObserver {
  return {
    decided: (intent, evaluation) => stats.count(intent, evaluation.decision),
    answered(evaluation, approval) {
      const { decision, trustKey, defaultTier, heldBy, changesFiles } = evaluation;
      const denied = approval.status === "denied";
      learning.observe({
        key: trustKey,
        verdict: denied ? "deny" : "allow",
        tier: decision.tier,
        riskLevel: decision.riskLevel,
        heldBy,
        questId: approval.questId,
        approvalId: approval.id,
        at: approval.decidedAt ?? approval.createdAt,
      });
      if (!denied) return;
      trust.outcome({
        key: trustKey,
        defaultTier,
        decidedTier: decision.tier,
        heldBy,
        changesFiles,
        result: "refused",
        questId: approval.questId,
        receiptId: approval.id,
      });
    },
    countLearnedUse: (ruleId, { quest, parent }) => learning.used(ruleId, { questId: quest, receiptId: parent }),
  };
}

/** Passes outcomes to trust and learning. A denial is skipped: the owner's was recorded when it was given, and a rule's teaches nothing. */
export function recordOutcome(
  report: OutcomeReport,
  evaluationOf: (step: OutcomeStep) => Evaluation,
  { trust, learning }: Pick<Observers, "trust" | "learning">,
): void {
  const { result, receiptId, questId } = report;
  if (result === "refused") return;
  for (const step of report.steps) {
    const { trustKey, defaultTier, heldBy, changesFiles, learnedRule } = evaluationOf(step);
    trust.outcome({ key: trustKey, defaultTier, decidedTier: step.decision.tier, heldBy, changesFiles, result, questId, receiptId });
    if (learnedRule !== null) learning.outcome({ receiptId, ruleId: learnedRule, result });
  }
}
