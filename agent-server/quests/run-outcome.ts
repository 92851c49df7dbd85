import type { Message } from "../contract/chat.ts";
import type { Notice } from "./notices.ts";
import type { QuestStore } from "./quest-store.ts";

/** How a run ended. */
export type Outcome = { status: "done" } | { status: "waiting" } | { status: "failed"; problem: string };

/** Adds a notice to the chat, and returns the outcome of a failed run. */
export function fail({ store }: { store: QuestStore }, run: { readonly questId: string }, reason: Notice, message?: Message): Outcome {
  if (message === undefined) {
    store.addMessage({ questId: run.questId, role: "assistant", parts: [reason] });
  } else {
    message.parts.push(reason);
    store.saveMessage({ ...message, open: false });
  }
  return { status: "failed", problem: reason.text };
}
