import { LancelotError } from "../contract/errors.ts";
import type { Ledger, ReceiptOpening } from "./types.ts";

/**
 * Runs a user-initiated action inside a receipt that is opened before and closed after it, also on failure. The message of an error
 * that is not a LancelotError is not recorded, because it may contain a path or a secret.
 */
export async function withReceipt<T>(
  ledger: Pick<Ledger, "open" | "close">,
  opening: ReceiptOpening,
  work: () => Promise<T> | T,
): Promise<T> {
  const id = ledger.open(opening);
  try {
    const result = await work();
    ledger.close(id, { status: "success" });
    return result;
  } catch (error) {
    const known = error instanceof LancelotError ? error : null;
    ledger.close(id, {
      status: known?.code === "cancelled" ? "cancelled" : "failure",
      errorMessage: known?.message ?? "The action failed with an internal error.",
    });
    throw error;
  }
}
