import type { ReadonlySignal } from "@preact/signals";
import type { TrustProposal, TrustRecord } from "../../../agent-server/contract/trust.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import type { ProposalsView } from "../proposals-view.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export interface TrustView extends ProposalsView<TrustProposal, TrustRecord> {
  /** Accepted proposals, which can be revoked. */
  readonly accepted: readonly TrustProposal[];
}

/** Minimum milliseconds between two reads, because outcomes come with receipts. */
const minIntervalMs = 1500;

export function createTrustState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): LiveQuery<TrustView> {
  return createLiveQuery({
    bridge,
    store,
    shown,
    topics: ["trust", "receipt", "soul", "flags"],
    minIntervalMs,
    async read(abort) {
      const [records, pending, accepted] = await Promise.all([
        bridge.call("trust.list", {}, abort),
        bridge.call("trust.proposals", {}, abort),
        bridge.call("trust.proposals", { status: "accepted" }, abort),
      ]);
      return {
        records: records.items,
        pending: pending.items.filter(({ status }) => status === "pending"),
        accepted: accepted.items.filter(({ status }) => status === "accepted"),
      };
    },
  });
}
