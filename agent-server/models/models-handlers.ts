import type { Handlers } from "../contract/table.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { Models } from "./types.ts";

/** Lists and selects models, and downloads the local one. Selecting and downloading record their own receipts. */
export function modelsHandlers(
  models: Models,
  ledger: Pick<Ledger, "open" | "close">,
): Pick<Handlers, "models.list" | "models.choose" | "models.local" | "models.local.download" | "models.local.cancel"> {
  return {
    "models.list": ({ provider }, call) => models.list(provider, call.signal),
    "models.choose": ({ provider, model }) => models.choose(provider, model),
    "models.local": () => models.local(),
    "models.local.download": ({ only }) => models.downloadLocal(only),
    "models.local.cancel": () =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "models.local.cancel", inputs: {}, riskTier: "T0" }, () =>
        models.cancelDownload(),
      ),
  };
}
