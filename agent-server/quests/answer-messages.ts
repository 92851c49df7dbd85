import type { Message } from "../contract/chat.ts";
import type { Storage } from "../storage/storage.ts";
import { type MessageRow, toStoredMessage } from "./quest-rows.ts";

/** A position in a list that is newest first. */
export interface ListPosition {
  readonly at: string;
  readonly id: string;
}

export interface AnswerQuery {
  /** Null for all tasks of the workspace; a sub-task is listed only by its own id. */
  readonly questId: string | null;
  /** The first message to return, or the one after it; null for the newest. */
  readonly from: ListPosition | null;
  readonly limit: number;
}

export interface AnswerMessage {
  readonly message: Message;
  readonly questTitle: string;
}

/** Sorts after every time. */
const newest = "9999";

/** Reads finished answers and the reasoning before them, newest first. */
export function createAnswerReader({
  storage,
  workspace,
}: {
  storage: Storage;
  workspace: string;
}): (query: AnswerQuery) => AnswerMessage[] {
  type Row = MessageRow & { quest_title: string };
  // In the stored JSON, quotes within a text are escaped, so the patterns match the type of a part only.
  const select = (from: string, where: string) =>
    storage.db.prepare<[Record<string, unknown>], Row>(
      `SELECT messages.*, quests.title AS quest_title FROM ${from}
       WHERE ${where} AND quests.workspace = @workspace AND messages.open = 0
         AND messages.created_at <= @at AND (messages.created_at < @at OR messages.id <= @id)
         AND ((messages.role = 'assistant' AND messages.text <> '' AND instr(messages.parts, '"type":"tool"') = 0)
           OR (messages.role = 'user' AND instr(messages.parts, '"type":"reasoning"') > 0))
       ORDER BY messages.created_at DESC, messages.id DESC LIMIT @limit`,
    );
  // The index by time is named, so that a page of a workspace with many messages reads no more of them than it needs.
  const ofWorkspace = select(
    "messages INDEXED BY messages_by_time CROSS JOIN quests",
    "quests.id = messages.quest_id AND quests.parent_id IS NULL",
  );
  const ofQuest = select("quests CROSS JOIN messages", "quests.id = @questId AND messages.quest_id = quests.id");
  return ({ questId, from, limit }) => {
    const position = { workspace, limit, at: from?.at ?? newest, id: from?.id ?? "" };
    const rows = questId === null ? ofWorkspace.all(position) : ofQuest.all({ ...position, questId });
    return rows.map((row) => ({ message: toStoredMessage(row).message, questTitle: row.quest_title }));
  };
}
