import type { Migration } from "../storage/storage.ts";

/**
 * Tables of this room: proposed changes, checkpoints (their bytes are files in the data folder's `objects/`), and verifications
 * of reversible actions that have not ended or whose result nobody was told yet.
 */
export const toolsMigrations: readonly Migration[] = [
  {
    name: "tools-1-changes-and-checkpoints",
    sql: `
      CREATE TABLE changes (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        quest_id TEXT NOT NULL,
        absolute TEXT NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        base TEXT,
        proposed TEXT,
        encoding TEXT NOT NULL,
        hunks TEXT NOT NULL,
        told TEXT NOT NULL DEFAULT '{}',
        receipt_id TEXT,
        problem TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX changes_quest ON changes (workspace, quest_id, absolute);
      CREATE UNIQUE INDEX changes_open ON changes (workspace, quest_id, absolute) WHERE status = 'pending';
      CREATE TABLE checkpoints (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        quest_id TEXT,
        receipt_id TEXT,
        host_id TEXT NOT NULL,
        finished INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX checkpoints_quest ON checkpoints (workspace, quest_id, seq);
      CREATE TABLE checkpoint_files (
        checkpoint_id TEXT NOT NULL REFERENCES checkpoints (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        absolute TEXT NOT NULL,
        path TEXT NOT NULL,
        before_hash TEXT,
        before_mode INTEGER,
        before_size INTEGER NOT NULL,
        planned INTEGER NOT NULL DEFAULT 0,
        planned_hash TEXT,
        after_hash TEXT,
        after_mode INTEGER,
        touched INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (checkpoint_id, position)
      ) STRICT;
    `,
  },
  {
    name: "tools-2-verifications",
    sql: `
      CREATE TABLE verifications (
        receipt_id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        quest_id TEXT,
        host_id TEXT NOT NULL,
        checkpoint_id TEXT,
        status TEXT NOT NULL CHECK (status IN ('waiting', 'changed', 'failed', 'unverified')),
        job TEXT NOT NULL,
        words TEXT NOT NULL DEFAULT '',
        told INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX verifications_workspace ON verifications (workspace, status);
    `,
  },
  {
    name: "tools-3-repository-moves",
    sql: `
      CREATE TABLE repository_moves (
        id INTEGER PRIMARY KEY,
        workspace TEXT NOT NULL,
        quest_id TEXT,
        receipt_id TEXT NOT NULL,
        move TEXT NOT NULL,
        taken_back INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX repository_moves_quest ON repository_moves (workspace, quest_id, id);
    `,
  },
];
