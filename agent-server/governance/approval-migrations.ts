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
  {
    name: "governance-3-approval-rules",
    sql: `
      -- What may be allowed for the workspace, and the code that would run (null: unknown).
      ALTER TABLE approvals ADD COLUMN scopes TEXT NOT NULL DEFAULT '[]';
      ALTER TABLE approvals ADD COLUMN code TEXT;
      -- Hash of what a denial depends on: code, soul and policy.
      ALTER TABLE approvals ADD COLUMN basis TEXT;
      ALTER TABLE approvals ADD COLUMN forgotten_at TEXT;
      CREATE TABLE approval_rules (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        scope TEXT NOT NULL,
        scope_hash TEXT NOT NULL,
        tier TEXT NOT NULL,
        rules TEXT NOT NULL,
        code_exact TEXT NOT NULL,
        code_files TEXT NOT NULL,
        approval_id TEXT NOT NULL,
        quest_id TEXT,
        host_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        uses INTEGER NOT NULL DEFAULT 0,
        last_used_at TEXT,
        ended_at TEXT
      ) STRICT;
      CREATE INDEX approval_rules_open ON approval_rules (workspace, ended_at);`,
  },
];
