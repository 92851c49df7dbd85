import type { Storage } from "../storage/storage.ts";

/**
 * Messages that came without the owner token, from a program that was given the gateway's own token. They are worked on like the owner's,
 * but are no evidence of what the owner said, and order nothing of memory in the owner's name.
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
