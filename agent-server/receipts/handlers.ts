import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Handlers } from "../contract/table.ts";
import { withReceipt } from "./with-receipt.ts";
import type { Ledger } from "./types.ts";

/** Milliseconds between two progress events of a verification. */
const progressEvery = 150;

/** Handlers for the receipts methods of the contract. */
export function receiptsHandlers({
  ledger,
  emit,
  now = Date.now,
}: {
  ledger: Ledger;
  emit: Emit;
  now?: () => number;
}): Pick<Handlers, "receipts.search" | "receipts.get" | "receipts.trace" | "receipts.verify" | "receipts.export"> {
  return {
    "receipts.search": async (params, { signal }) => {
      await ledger.catchUp(params, signal);
      return ledger.search(params);
    },
    "receipts.get": async ({ id }) => {
      const receipt = await ledger.find(id);
      if (receipt === null) throw new LancelotError("not_found", `There is no receipt ${id}.`);
      return receipt;
    },
    "receipts.trace": async (of) => {
      const roots = ledger.trace(of);
      if (roots.length > 0 || !("id" in of)) return { roots };
      // A sealed receipt is shown without its tree; its metadata names the file that contains the tree.
      const receipt = await ledger.find(of.id);
      return { roots: receipt === null ? [] : [{ receipt, children: [] }] };
    },
    "receipts.verify": (_params, call) => {
      let lastEmit = now();
      return ledger.verify(call.signal, (done, total) => {
        if (done < total && now() - lastEmit < progressEvery) return;
        lastEmit = now();
        emit("verifying", { done, total });
      });
    },
    "receipts.export": (params, call) =>
      withReceipt(ledger, { actionType: "system", actionName: "receipts.export", inputs: { format: params.format }, riskTier: "T1" }, () =>
        ledger.export(params, call.signal),
      ),
  };
}
