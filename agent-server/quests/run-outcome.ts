import type { Message } from "../contract/chat.ts";
import type { Notice } from "./notices.ts";
import type { Run } from "./quest-run.ts";
import type { QuestStore } from "./quest-store.ts";

/** How a run ended. */
export type Outcome = { status: "done" } | { status: "waiting" } | { status: "failed"; problem: string };

/** Shows a notice as the product's own words and ends the run as failed. */
export function fail({ store }: { store: QuestStore }, run: Run, words: Notice, message?: Message): Outcome {
  if (message === undefined) {
    store.addMessage({ questId: run.questId, role: "assistant", parts: [words] });
  } else {
    message.parts.push(words);
    store.saveMessage({ ...message, open: false });
  }
  return { status: "failed", problem: words.text };
}
