import type { Handlers } from "../contract/table.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import type { OAuth } from "../security/security.ts";

/** Each user action is a receipt, without tokens or authorization codes. */
export function oauthHandlers(
  oauth: OAuth,
  deps: { ledger: Ledger; onChange: () => void },
): Pick<Handlers, "oauth.initiate" | "oauth.complete" | "oauth.cancel" | "oauth.revoke" | "oauth.status"> {
  const act = async <T>(actionName: string, inputs: Record<string, unknown>, work: () => Promise<T>): Promise<T> => {
    try {
      return await withReceipt(deps.ledger, { actionType: "user_interaction", actionName, inputs, riskTier: "T3" }, work);
    } finally {
      deps.onChange();
    }
  };
  return {
    "oauth.initiate": ({ provider, redirectUri }) => act("oauth.initiate", { provider }, () => oauth.initiate(provider, redirectUri)),
    "oauth.complete": ({ url }) => act("oauth.complete", {}, () => oauth.complete(url)),
    "oauth.cancel": ({ provider }) => act("oauth.cancel", { provider }, () => oauth.cancel(provider)),
    "oauth.revoke": ({ provider }) => act("oauth.revoke", { provider }, () => oauth.revoke(provider)),
    "oauth.status": async () => ({ items: await oauth.status() }),
  };
}
