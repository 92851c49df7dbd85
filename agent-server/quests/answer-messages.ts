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

/** Reads finished answers and the reasoning before them, newest first. */
export function createAnswerReader({
  storage,
  workspace,
}: {
  storage: Storage;
  workspace: string;
}): (query: AnswerQuery) => AnswerMessage[] {
  // In the stored JSON, quotes within a text are escaped, so the patterns match the type of a part only.
  const answers = storage.db.prepare<[Record<string, unknown>], MessageRow & { quest_title: string }>(
    `SELECT messages.*, quests.title AS quest_title FROM messages JOIN quests ON quests.id = messages.quest_id
     WHERE quests.workspace = @workspace AND messages.open = 0
       AND ((@questId IS NULL AND quests.parent_id IS NULL) OR quests.id = @questId)
       AND (@at IS NULL OR (messages.created_at, messages.id) <= (@at, @id))
       AND ((messages.role = 'assistant' AND messages.text <> '' AND instr(messages.parts, '"type":"tool"') = 0)
         OR (messages.role = 'user' AND instr(messages.parts, '"type":"reasoning"') > 0))
     ORDER BY messages.created_at DESC, messages.id DESC LIMIT @limit`,
  );
  return ({ questId, from, limit }) =>
    answers
      .all({ workspace, questId, limit, at: from?.at ?? null, id: from?.id ?? null })
      .map((row) => ({ message: toStoredMessage(row).message, questTitle: row.quest_title }));
}
