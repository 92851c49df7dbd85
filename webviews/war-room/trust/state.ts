import type { ReadonlySignal } from "@preact/signals";
import type { TrustProposal, TrustRecord } from "../../../agent-server/contract/trust.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLive, type Live } from "../live.ts";

export interface TrustView {
  readonly records: readonly TrustRecord[];
  readonly pending: readonly TrustProposal[];
  /** Accepted ones, which can be withdrawn. */
  readonly accepted: readonly TrustProposal[];
}

/** Milliseconds between two reads: outcomes come with receipts. */
const restMs = 1500;

export function createTrustState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): Live<TrustView> {
  return createLive({
    bridge,
    store,
    shown,
    topics: ["trust", "receipt", "soul", "flags"],
    restMs,
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
