import type { Migration } from "../storage/storage.ts";

export const approvalMigrations: readonly Migration[] = [
  {
    name: "governance-1-approvals",
    sql: `
      CREATE TABLE approvals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        quest_id TEXT,
        host_id TEXT NOT NULL,
        intent_hash TEXT NOT NULL,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        title TEXT NOT NULL,
        detail TEXT NOT NULL,
        tier TEXT NOT NULL,
        rules TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT,
        -- 1: refused at once because nobody could be asked; an answer given later serves the next identical intent.
        deferred INTEGER NOT NULL DEFAULT 0,
        receipt_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        decided_at TEXT,
        used_at TEXT
      ) STRICT;
      CREATE INDEX approvals_status ON approvals (status, workspace, seq);
      CREATE INDEX approvals_intent ON approvals (intent_hash, quest_id);
      CREATE INDEX approvals_quest ON approvals (quest_id, status);`,
  },
  {
    name: "governance-2-channels",
    sql: `ALTER TABLE approvals ADD COLUMN channels TEXT NOT NULL DEFAULT '["war_room","chat","notification","terminal"]';`,
  },
];
