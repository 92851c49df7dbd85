// Whether the product told the owner that an answer does not match what was done.
import type { Receipt } from "../../../agent-server/contract/receipts.ts";

/** Whether this version of the product checks what an answer claims. Until then lies and empty promises stay uncorrected. */
export const answersAreChecked: boolean = false;

/** A check of an answer's claims leaves the receipt `claims.checked`, which fails when a claim has nothing behind it. */
export function isCorrected({ receipts }: { receipts: readonly Pick<Receipt, "actionType" | "actionName" | "status">[] }): boolean {
  return receipts.some(
    ({ actionType, actionName, status }) => actionType === "verification" && actionName === "claims.checked" && status === "failure",
  );
}
