// Whether the product told the owner that an answer does not match what was done.
import type { Receipt } from "../../../agent-server/contract/receipts.ts";

/** Receipts of corrections: a claim without anything behind it, and an announcement that nothing followed. */
const corrections: ReadonlySet<string> = new Set(["claims.checked", "governor.nothing-done"]);

/** True when a receipt says that the answer was corrected. */
export function isCorrected({ receipts }: { receipts: readonly Pick<Receipt, "actionType" | "actionName" | "status">[] }): boolean {
  return receipts.some(
    ({ actionType, actionName, status }) => actionType === "verification" && corrections.has(actionName) && status === "failure",
  );
}
