import { LancelotError } from "../contract/errors.ts";
import type { Ledger, ReceiptOpening } from "./types.ts";

/**
 * Does something the owner asked for by hand with a receipt around it: opened before, closed after, also when it fails.
 * What fails outside our own words is told without its text, which may hold a path or a secret.
 */
export async function recorded<T>(ledger: Pick<Ledger, "open" | "close">, opening: ReceiptOpening, work: () => Promise<T> | T): Promise<T> {
  const id = ledger.open(opening);
  try {
    const result = await work();
    ledger.close(id, { status: "success" });
    return result;
  } catch (error) {
    const known = error instanceof LancelotError ? error : null;
    ledger.close(id, {
      status: known?.code === "cancelled" ? "cancelled" : "failure",
      errorMessage: known?.message ?? "An internal error stopped it.",
    });
    throw error;
  }
}
