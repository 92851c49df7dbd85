import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Handlers } from "../contract/table.ts";
import { recorded } from "./recorded.ts";
import type { Ledger } from "./types.ts";

/** Milliseconds between two events of a running verification. */
const progressEvery = 150;

/** The contract's methods of this room. */
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
    "receipts.search": (params) => ledger.search(params),
    "receipts.get": async ({ id }) => {
      const receipt = await ledger.find(id);
      if (receipt === null) throw new LancelotError("not_found", `There is no receipt ${id}.`);
      return receipt;
    },
    "receipts.trace": async (of) => {
      const roots = ledger.trace(of);
      if (roots.length > 0 || !("id" in of)) return { roots };
      // Sealed: shown by itself, with the file that holds its tree.
      const receipt = await ledger.find(of.id);
      return { roots: receipt === null ? [] : [{ receipt, children: [] }] };
    },
    "receipts.verify": (_params, call) => {
      let told = now();
      return ledger.verify(call.signal, (done, total) => {
        if (done < total && now() - told < progressEvery) return;
        told = now();
        emit("verifying", { done, total });
      });
    },
    "receipts.export": (params, call) =>
      recorded(ledger, { actionType: "system", actionName: "receipts.export", inputs: { format: params.format }, riskTier: "T1" }, () =>
        ledger.export(params, call.signal),
      ),
  };
}
