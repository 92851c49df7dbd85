import type { ReadonlySignal } from "@preact/signals";
import type { LearnedRule, LearningProposal } from "../../../agent-server/contract/trust.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import type { ProposalsView } from "../proposals-view.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export interface LearningView extends ProposalsView<LearningProposal, LearnedRule> {
  /** Rules in use and rules to confirm come before revoked ones. */
  readonly records: readonly LearnedRule[];
}

const order = { needs_confirmation: 0, active: 1, revoked: 2 } as const;
/** Minimum milliseconds between two reads, because each decision of a rule creates a receipt. */
const minIntervalMs = 1500;

export function createLearningState(
  bridge: Bridge,
  store: Pick<Store, "generation">,
  shown: ReadonlySignal<boolean>,
): LiveQuery<LearningView> {
  return createLiveQuery({
    bridge,
    store,
    shown,
    topics: ["learning", "approval", "receipt", "flags"],
    minIntervalMs,
    async read(abort) {
      const [rules, pending] = await Promise.all([bridge.call("learning.rules", {}, abort), bridge.call("learning.proposals", {}, abort)]);
      return { records: rules.items.toSorted((a, b) => order[a.status] - order[b.status]), pending: pending.items };
    },
  });
}
