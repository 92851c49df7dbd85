import type { RecallQuests } from "../../memory/memory.ts";
import { notice, addNoticeOnce } from "../notices.ts";
import { userText } from "../quest-page.ts";
import type { QuestStore } from "../quest-store.ts";

/** Of a long message, its beginning and its end are searched for. UTF-16 units. */
const shares = { head: 3_000, tail: 1_000 };

/** Quests as memory's recall needs them. */
export function recallQuests(store: Pick<QuestStore, "messages" | "quest" | "marker" | "addMessage">): RecallQuests {
  return {
    objective: (questId) => objectiveOf(store, questId),
    mode: (questId) => (store.quest(questId).mode === "crusader" ? "crusader" : "normal"),
    marker: (questId) => store.marker(questId),
    warnOnce: (questId, text) => addNoticeOnce(store, questId, notice("warning", text, "show_log")),
  };
}

/** The owner's last message, after the quest's title when the message does not begin with it. */
export function objectiveOf(store: Pick<QuestStore, "messages" | "quest">, questId: string): string {
  const asked = store
    .messages(questId)
    .findLast(({ message, turn }) => message.role === "user" && turn?.kind === "user" && userText(message).trim() !== "");
  const text = asked === undefined ? "" : userText(asked.message).trim();
  const bounded = text.length <= shares.head + shares.tail ? text : `${text.slice(0, shares.head)}\n…\n${text.slice(-shares.tail)}`;
  const { title } = store.quest(questId);
  return (text.startsWith(title.replace(/…$/, "")) ? bounded : `${title}\n${bounded}`).toWellFormed();
}
