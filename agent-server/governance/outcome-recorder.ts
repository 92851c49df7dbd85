import type { Witness } from "./authorize.ts";
import type { Judged } from "./decide.ts";
import type { Learning } from "./learning/learning.ts";
import type { OutcomeReport, OutcomeStep } from "./outcome-report.ts";
import type { Stats } from "./decision-stats.ts";
import type { Trust } from "./trust/trust.ts";

interface Learners {
  readonly trust: Pick<Trust, "outcome">;
  readonly learning: Pick<Learning, "observe" | "used" | "outcome">;
}

/** Hands what the gate decided and the owner answered on to statistics, learning and trust. */
export function createWitness({ stats, trust, learning }: Learners & { readonly stats: Pick<Stats, "count"> }): Witness {
  return {
    decided: (intent, judged) => stats.count(intent, judged.decision),
    answered(judged, approval) {
      const { decision, trustKey, defaultTier, held, changesFiles } = judged;
      const denied = approval.status === "denied";
      learning.observe({
        key: trustKey,
        verdict: denied ? "deny" : "allow",
        tier: decision.tier,
        riskLevel: decision.riskLevel,
        held,
        questId: approval.questId,
        approvalId: approval.id,
        at: approval.decidedAt ?? approval.createdAt,
      });
      if (!denied) return;
      trust.outcome({
        key: trustKey,
        defaultTier,
        decidedTier: decision.tier,
        held,
        changesFiles,
        result: "refused",
        questId: approval.questId,
        receiptId: approval.id,
      });
    },
    useLearned: (ruleId, { questId, parentId }) => learning.used(ruleId, { questId, receiptId: parentId }),
  };
}

/** Tells trust and learning what came of what was judged. A refusal was told when the owner gave it; that of the rules teaches nothing. */
export function tellOutcome(
  report: OutcomeReport,
  judgedOf: (step: OutcomeStep) => Judged,
  { trust, learning }: Pick<Learners, "trust" | "learning">,
): void {
  const { result, receiptId, questId } = report;
  if (result === "refused") return;
  for (const step of report.steps) {
    const { trustKey, defaultTier, held, changesFiles, learnedRule } = judgedOf(step);
    trust.outcome({ key: trustKey, defaultTier, decidedTier: step.decision.tier, held, changesFiles, result, questId, receiptId });
    if (learnedRule !== null) learning.outcome({ receiptId, ruleId: learnedRule, result });
  }
}
