import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../../agent-server/receipts/receipts.ts";
import { withReceipt } from "../../../agent-server/receipts/with-receipt.ts";

const opening: ReceiptOpening = { actionType: "system", actionName: "thing", inputs: {}, riskTier: "T1" };

/** Keeps the order of what happens. */
function recordingLedger() {
  const seen: unknown[] = [];
  return {
    seen,
    ledger: {
      open: () => {
        seen.push("open");
        return "id";
      },
      close: (_id: string, closing: ReceiptClosing) => {
        seen.push(closing);
        return {} as never;
      },
    },
  };
}

describe("what the owner does by hand", () => {
  it("is written down before it is done, and closed after", async () => {
    const { seen, ledger } = recordingLedger();
    expect(await withReceipt(ledger, opening, () => seen.push("work"))).toBe(2);
    expect(seen).toEqual(["open", "work", { status: "success" }]);
  });

  it.each([
    [new LancelotError("unavailable", "Try later."), { status: "failure", errorMessage: "Try later." }],
    [new LancelotError("cancelled", "Stopped."), { status: "cancelled", errorMessage: "Stopped." }],
    [new Error("EACCES /home/somebody"), { status: "failure", errorMessage: "The action failed with an internal error." }],
  ])("closes when it fails, and fails all the same: %s", async (error, closing) => {
    const { seen, ledger } = recordingLedger();
    await expect(
      withReceipt(ledger, opening, () => {
        throw error;
      }),
    ).rejects.toBe(error);
    expect(seen).toEqual(["open", closing]);
  });
});
