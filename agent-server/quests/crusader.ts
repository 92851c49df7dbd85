import type { Quest } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { QuestStore } from "./quest-store.ts";

/** The request for crusader mode. It counts only at the very start of a message. */
const phrase = /^\s*(?:\/crusader(?=\s|$)|crusader:|(?:engage|enter) crusader mode(?![\p{L}\p{N}_-])[ \t]*(?:[.,:;!–—-]|and\b)?)\s*/iu;

/**
 * True when the message begins with `/crusader`, `Crusader:`, `engage crusader mode` or `enter crusader mode` (requirement A10). The word elsewhere, in a quotation, in code or
 * in an attachment does not count.
 */
export function asksForCrusader(text: string): boolean {
  return phrase.test(text);
}

/** The message without its request for crusader mode, as the model gets it. */
export function withoutCrusader(text: string): string {
  return text.replace(phrase, "");
}

/** Sets the mode of a quest, and writes a receipt when crusader mode starts or ends. */
export function changeMode({ store, ledger }: { store: QuestStore; ledger: Pick<Ledger, "record"> }, questId: string, mode: Mode): Quest {
  const before = store.quest(questId);
  if (before.mode === mode) return before;
  const after = store.patch(questId, { mode });
  if (mode === "crusader" || before.mode === "crusader") recordCrusader(ledger, after, mode === "crusader" ? "start" : "end");
  return after;
}

export function recordCrusader(ledger: Pick<Ledger, "record">, { id, title, receiptId }: Quest, what: "start" | "end"): void {
  ledger.record(
    {
      actionType: what === "start" ? "user_interaction" : "system",
      actionName: `crusader.${what}`,
      inputs: { title },
      riskTier: "T0",
      questId: id,
      parentId: receiptId,
    },
    { status: "success" },
  );
}
