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
        host_id TEXT,            -- the host that runs it or ran it last
        token_limit INTEGER NOT NULL,
        answer TEXT,             -- the answer to an ask_owner call that is not stored as its result yet
        reviewed TEXT NOT NULL,  -- counts of reviewed hunks that the chat already shows
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
        text TEXT NOT NULL,      -- the text for searches
        created_at TEXT NOT NULL,
        open INTEGER NOT NULL,
        turn TEXT,               -- the content for the model; null until known, or when the model gets none
        attachments TEXT,        -- not yet read for the model
        UNIQUE (quest_id, seq)
      ) STRICT;
    `,
  },
  // The secret marker that delimits data in the prompts of a quest; null until the first prompt.
  { name: "orchestrator-2-marker", sql: "ALTER TABLE quests ADD COLUMN marker TEXT;" },
  {
    name: "orchestrator-3-routing",
    sql: `
      ALTER TABLE quests ADD COLUMN override TEXT;      -- the lane, provider or model that the user chose
      ALTER TABLE quests ADD COLUMN context TEXT;       -- tokens and window of the last prompt
      ALTER TABLE messages ADD COLUMN answered_by TEXT; -- the model that wrote it, and the reason for the route
    `,
  },
  // The created_at of the last message of an ended quest that was searched for memories; an index of messages by time.
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
  // Messages that came without the owner token.
  {
    name: "orchestrator-5-others",
    sql: "CREATE TABLE messages_of_others (message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE) STRICT;",
  },
  {
    name: "orchestrator-6-sub-tasks",
    sql: `
      ALTER TABLE quests ADD COLUMN parent_id TEXT REFERENCES quests (id) ON DELETE CASCADE; -- the task of a sub-task
      ALTER TABLE quests ADD COLUMN soul_scope TEXT; -- the stricter soul that its actions are decided with
      CREATE INDEX quests_by_parent ON quests (parent_id) WHERE parent_id IS NOT NULL;
    `,
  },
  // Whether an active quest waits until its host has a place for it.
  { name: "orchestrator-6-queue", sql: "ALTER TABLE quests ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;" },
  // What the owner chose for the edits of a quest; null when the posture decides.
  { name: "quests-7-edits", sql: "ALTER TABLE quests ADD COLUMN edits TEXT CHECK (edits IN ('review', 'auto'));" },
];
