import type { Migration } from "../storage/storage.ts";

/**
 * Tables of the workspace module: proposed changes, checkpoints (their bytes are files in the data folder's `objects/`), and verifications
 * of reversible actions that are pending or whose result was not reported yet.
 */
export const workspaceMigrations: readonly Migration[] = [
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
  {
    name: "tools-4-effects",
    sql: `
      -- 'action': one that said what it would touch; 'restore': completed by the next host when its own died; 'command': the workspace was watched.
      ALTER TABLE checkpoints ADD COLUMN kind TEXT NOT NULL DEFAULT 'action';
      -- Its files were removed to make space.
      ALTER TABLE checkpoints ADD COLUMN dropped_at TEXT;
      CREATE INDEX checkpoints_open ON checkpoints (workspace) WHERE finished = 0;
      -- What stood there: NULL (a file, or nothing without a hash), 'link' (hash of its target), 'folder'.
      ALTER TABLE checkpoint_files ADD COLUMN before_kind TEXT;
      ALTER TABLE checkpoint_files ADD COLUMN planned_kind TEXT;
      ALTER TABLE checkpoint_files ADD COLUMN planned_mode INTEGER;
      ALTER TABLE checkpoint_files ADD COLUMN after_kind TEXT;
      -- What it held before was not kept (1), or it was changed by two at once (2): it cannot be undone.
      ALTER TABLE checkpoint_files ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX checkpoint_files_path ON checkpoint_files (absolute);
      CREATE TABLE packs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        host_id TEXT NOT NULL,
        bytes INTEGER NOT NULL DEFAULT 0,
        done INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE packed_objects (
        hash BLOB PRIMARY KEY,
        pack INTEGER NOT NULL,
        at INTEGER NOT NULL,
        stored INTEGER NOT NULL,
        compressed INTEGER NOT NULL,
        start INTEGER NOT NULL,
        size INTEGER NOT NULL,
        whole INTEGER NOT NULL,
        used_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX packed_objects_pack ON packed_objects (pack, at);
    `,
  },
  {
    name: "tools-5-whole-changes",
    sql: `
      -- A change that is decided as a whole: both images as JSON, with contents in the object store.
      ALTER TABLE changes ADD COLUMN images TEXT;
      -- Permission bits that an accepted file gets; NULL keeps those it has.
      ALTER TABLE changes ADD COLUMN mode INTEGER;
      -- The command that made the change; NULL for an edit.
      ALTER TABLE changes ADD COLUMN origin TEXT;
    `,
  },
  {
    name: "tools-6-tasks",
    sql: `
      -- Why the change is decided on its own: the program that would run the file. NULL for an ordinary change.
      ALTER TABLE changes ADD COLUMN caution TEXT;
      -- Tests that ran with the change, as JSON.
      ALTER TABLE changes ADD COLUMN evidence TEXT NOT NULL DEFAULT '[]';
      -- What a task's layer holds besides proposed changes, as JSON.
      CREATE TABLE tasks (
        workspace TEXT NOT NULL,
        quest_id TEXT NOT NULL,
        generated TEXT,
        repository TEXT,
        opaque TEXT NOT NULL,
        PRIMARY KEY (workspace, quest_id)
      ) STRICT;
      CREATE TABLE applied_generated (
        id INTEGER PRIMARY KEY,
        workspace TEXT NOT NULL,
        quest_id TEXT NOT NULL,
        receipt_id TEXT NOT NULL,
        journal TEXT NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
      ) STRICT;
      CREATE INDEX applied_generated_quest ON applied_generated (workspace, quest_id, id);
    `,
  },
];
