import { randomUUID } from "node:crypto";
import type { LearnedPattern } from "../../contract/trust.ts";
import type { TrustKey } from "../decision-facts.ts";
import { agreement } from "./evidence-agreement.ts";
import { patternsOf } from "./learned-patterns.ts";
import type { LearningConfig } from "./learning-config.ts";
import type { LearningReceipt } from "./learning-decision.ts";
import { coverageMessage } from "./learning-messages.ts";
import type { LearningStore, StoredProposal } from "./learning-store.ts";
import type { NeverAutomate } from "./never-automate.ts";

const dayMs = 86_400_000;

export interface LearningProposals {
  /** Proposes a rule where the answers about a key agree, most specific pattern first. `hasRule` tells patterns with a rule. */
  propose(key: TrustKey, hasRule: (pattern: LearnedPattern) => boolean): void;
  withdraw(proposal: StoredProposal, why: string): void;
}

/** Proposes and withdraws learned rules inside the running transaction. */
export function createLearningProposals(deps: {
  store: LearningStore;
  config: LearningConfig | null;
  never: NeverAutomate;
  now: () => number;
  receipt: LearningReceipt;
  changed: () => void;
}): LearningProposals {
  const { store, config, never, now, receipt, changed } = deps;

  function withdraw({ proposal, receiptId }: StoredProposal, why: string): void {
    if (!store.settle(proposal.id, "withdrawn", now(), null)) return;
    receipt("withdraw", { pattern: proposal.pattern, id: proposal.id, verdict: proposal.verdict, parentId: receiptId, why });
    changed();
  }

  /** The verdict that the answers about a pattern agree on, or null. */
  function agreedVerdict(pattern: LearnedPattern, key: TrustKey, limits: LearningConfig) {
    const evidence = store.evidence(pattern, now() - limits.evidence.days * dayMs, now());
    const found = agreement(evidence, limits);
    if (found === null || (found.verdict === "allow" && never.key(key))) return null;
    if (pattern.scope === null && (evidence.scopes < limits.wide.scopes || limits.wide.never.includes(pattern.capability))) return null;
    return found;
  }

  return {
    withdraw,

    propose(key, hasRule) {
      if (config === null) return;
      for (const pattern of patternsOf(key)) {
        if (hasRule(pattern)) return;
        const pending = store.pending(pattern);
        const found = agreedVerdict(pattern, key, config);
        if (pending !== null) {
          if (found?.verdict === pending.proposal.verdict) return;
          withdraw(pending, "Later answers disagree.");
        }
        if (found === null) continue;
        const newAnswers = store.since(pattern);
        if ((newAnswers !== null && newAnswers < config.evidence.again) || store.isPending(pattern)) return;
        const id = randomUUID();
        const words = coverageMessage(pattern, found.verdict, config);
        const receiptId = receipt("propose", { pattern, id, verdict: found.verdict, why: words });
        store.propose({ ...pattern, ...found, id, words, receiptId, at: now() });
        changed();
        return;
      }
    },
  };
}
