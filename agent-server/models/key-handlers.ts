import type { Handlers } from "../contract/table.ts";
import { type Ledger, withReceipt } from "../receipts/receipts.ts";
import { isReservedSecret, refuseReservedSecret, type Secrets } from "../security/security.ts";

/** API keys set by the user. Receipts and lists contain only their names, never a value. */
export function keysHandlers(
  secrets: Secrets,
  deps: { ledger: Pick<Ledger, "open" | "close">; onChange: () => void },
): Pick<Handlers, "vault.set" | "vault.delete" | "vault.list"> {
  const act = async (actionName: string, name: string, work: () => Promise<void>): Promise<{ ok: true }> => {
    refuseReservedSecret(name);
    await withReceipt(deps.ledger, { actionType: "system", actionName, inputs: { title: name }, riskTier: "T3" }, work);
    deps.onChange();
    return { ok: true };
  };
  return {
    "vault.set": ({ name, value }) => act("vault.set", name, () => secrets.set(name, value)),
    "vault.delete": ({ name }) => act("vault.delete", name, () => secrets.delete(name)),
    "vault.list": async () => ({ items: (await secrets.list()).filter((name) => !isReservedSecret(name)) }),
  };
}
