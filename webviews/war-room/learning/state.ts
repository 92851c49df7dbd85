import type { ReadonlySignal } from "@preact/signals";
import type { LearnedRule, LearningProposal } from "../../../agent-server/contract/trust.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLive, type Live } from "../live.ts";

export interface LearningView {
  /** Those in use and those that wait to be confirmed, before the withdrawn ones. */
  readonly rules: readonly LearnedRule[];
  readonly pending: readonly LearningProposal[];
}

const order = { needs_confirmation: 0, active: 1, revoked: 2 } as const;
/** Milliseconds between two reads: rules decide, and count, as receipts come. */
const restMs = 1500;

export function createLearningState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): Live<LearningView> {
  return createLive({
    bridge,
    store,
    shown,
    topics: ["learning", "approval", "receipt", "flags"],
    restMs,
    async read(abort) {
      const [rules, pending] = await Promise.all([bridge.call("learning.rules", {}, abort), bridge.call("learning.proposals", {}, abort)]);
      return { rules: rules.items.toSorted((a, b) => order[a.status] - order[b.status]), pending: pending.items };
    },
  });
}
