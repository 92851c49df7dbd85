import type { Migration } from "../storage/storage.ts";

export const questsMigrations: readonly Migration[] = [
  {
    name: "orchestrator-1-quests",
    sql: `
      CREATE TABLE quests (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        mode TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        model TEXT,
        usage TEXT NOT NULL,
        plan TEXT NOT NULL,
        waiting_for TEXT,
        problem TEXT,
        receipt_id TEXT,
        host_id TEXT,            -- the host that runs it, or ran it last
        token_limit INTEGER NOT NULL,
        answer TEXT,             -- the owner's answer to an ask_owner that has not been stored as its result yet
        reviewed TEXT NOT NULL,  -- decided hunks the owner was already told about
        small_told INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX quests_by_use ON quests (workspace, updated_at DESC, id DESC);
      CREATE INDEX quests_by_status ON quests (status);
      CREATE TABLE messages (
        id TEXT PRIMARY KEY,
        quest_id TEXT NOT NULL REFERENCES quests (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        role TEXT NOT NULL,
        parts TEXT NOT NULL,
        text TEXT NOT NULL,      -- what a search finds
        created_at TEXT NOT NULL,
        open INTEGER NOT NULL,
        turn TEXT,               -- the message as the model is told it; null until known, or when it is told nothing
        attachments TEXT,        -- still to be read for the model
        UNIQUE (quest_id, seq)
      ) STRICT;
    `,
  },
  // The word in the marks around data in this quest's prompts; null until the first prompt.
  { name: "orchestrator-2-marker", sql: "ALTER TABLE quests ADD COLUMN marker TEXT;" },
  {
    name: "orchestrator-3-routing",
    sql: `
      ALTER TABLE quests ADD COLUMN override TEXT;      -- the owner's choice of lane, provider or model
      ALTER TABLE quests ADD COLUMN context TEXT;       -- tokens of the last prompt, and its window
      ALTER TABLE messages ADD COLUMN answered_by TEXT; -- which model wrote it, and why that one
    `,
  },
  // Up to which message (its created_at) an ended quest was looked at for what to remember; messages by time, for memory.
  {
    name: "orchestrator-4-memory",
    sql: `
      CREATE TABLE quest_memory (
        quest_id TEXT PRIMARY KEY REFERENCES quests (id) ON DELETE CASCADE,
        until TEXT NOT NULL
      ) STRICT;
      CREATE INDEX messages_by_time ON messages (created_at);
    `,
  },
  // The owner's words but for these, which came without the owner token.
  {
    name: "orchestrator-5-others",
    sql: "CREATE TABLE messages_of_others (message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE) STRICT;",
  },
];
