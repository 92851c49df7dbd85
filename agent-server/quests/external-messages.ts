import type { Storage } from "../storage/storage.ts";

/**
 * Messages that a program sent with the gateway's token, without the owner token. A quest processes them like any message, but they
 * are no evidence of what the user said, and cannot change memory in the user's name.
 */
export interface ExternalMessages {
  add(messageId: string): void;
  has(messageId: string): boolean;
}

export function createExternalMessages({ db }: Pick<Storage, "db">): ExternalMessages {
  const insert = db.prepare<[string]>("INSERT INTO messages_of_others (message_id) VALUES (?)");
  const find = db.prepare<[string], number>("SELECT 1 FROM messages_of_others WHERE message_id = ?").pluck();
  return {
    add: (messageId) => void insert.run(messageId),
    has: (messageId) => find.get(messageId) !== undefined,
  };
}
