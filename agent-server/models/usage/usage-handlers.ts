import type { Handlers } from "../../contract/table.ts";
import { type Ledger, withReceipt } from "../../receipts/receipts.ts";
import type { UsageBook } from "./types.ts";

type UsageMethod = "usage.summary" | "usage.lanes" | "usage.savings" | "usage.reset" | "usage.setCaps";

export function usageHandlers(usage: UsageBook, ledger: Ledger): Pick<Handlers, UsageMethod> {
  return {
    "usage.summary": (params) => usage.summary(params),
    "usage.lanes": (params) => usage.lanes(params),
    "usage.savings": (params) => usage.savings(params),
    "usage.reset": () =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "usage.reset", inputs: {}, riskTier: "T1" }, () => usage.reset()),
    "usage.setCaps": (caps) =>
      withReceipt(
        ledger,
        {
          actionType: "user_interaction",
          actionName: "usage.setCaps",
          inputs: { path: "config/usage.yaml", task: wordCap(caps.questUsd), day: wordCap(caps.dayUsd) },
          riskTier: "T1",
        },
        () => usage.setCaps(caps),
      ),
  };
}

function wordCap(usd: number | null): string {
  return usd === null ? "no cap" : `$${usd}`;
}
