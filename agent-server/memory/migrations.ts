import type { Migration } from "../storage/storage.ts";
import { memorySearchMigrations } from "./search/search-migrations.ts";

/** Times are milliseconds since 1970. JSON texts are written with sorted keys, so that equal things are equal texts. */
export const memoryMigrations: readonly Migration[] = [
  {
    name: "memory-1-items",
    sql: `
      CREATE TABLE memory_items (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        tier TEXT NOT NULL CHECK (tier IN ('core', 'working', 'episodic', 'archival')),
        block TEXT CHECK ((tier = 'core') = (block IS NOT NULL)),
        namespace TEXT NOT NULL,
        -- Absolute path; '' of what holds in every workspace, '-' where no folder was open.
        workspace TEXT NOT NULL,
        kind TEXT NOT NULL,
        content TEXT NOT NULL,
        -- Hash of the text without case and white space (textKey): what is the same is found by it.
        text_key TEXT NOT NULL DEFAULT '',
        -- Of what is kept by reference ('message:<id>'): content is '' then.
        ref TEXT,
        confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
        tags TEXT NOT NULL,
        provenance TEXT NOT NULL,
        quest_id TEXT,
        commit_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        expires_at INTEGER,
        -- Derived from use, not part of what a rollback restores.
        weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
        reinforced_at INTEGER NOT NULL,
        reinforced INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX memory_items_place ON memory_items (workspace, tier, updated_at DESC);
      CREATE INDEX memory_items_quest ON memory_items (quest_id) WHERE quest_id IS NOT NULL;
      CREATE INDEX memory_items_expiry ON memory_items (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX memory_items_commit ON memory_items (commit_id);
      CREATE INDEX memory_items_text ON memory_items (text_key) WHERE text_key <> '';
      CREATE UNIQUE INDEX memory_items_ref ON memory_items (ref) WHERE ref IS NOT NULL;

      CREATE TABLE memory_commits (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL CHECK (status IN ('open', 'committed', 'rolled_back', 'abandoned')),
        workspace TEXT NOT NULL,
        author TEXT NOT NULL CHECK (author IN ('owner', 'agent', 'system')),
        quest_id TEXT,
        host_id TEXT NOT NULL,
        reason TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        finished_at INTEGER,
        -- Order in which commits were finished, over all workspaces, from 1.
        finish_seq INTEGER UNIQUE,
        receipt_id TEXT,
        changes INTEGER NOT NULL DEFAULT 0,
        -- 1 while its images are kept.
        kept INTEGER NOT NULL DEFAULT 0,
        rollback_of TEXT NOT NULL DEFAULT '[]',
        rolled_back_by TEXT
      ) STRICT;
      CREATE INDEX memory_commits_place ON memory_commits (workspace, seq DESC);
      CREATE INDEX memory_commits_kept ON memory_commits (workspace, finish_seq DESC) WHERE kept = 1;
      CREATE INDEX memory_commits_open ON memory_commits (created_at) WHERE status = 'open';

      -- Staged edits, as the gates let them through; gone when their commit ends.
      CREATE TABLE memory_edits (
        commit_id TEXT NOT NULL REFERENCES memory_commits (id),
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (commit_id, number)
      ) STRICT;

      -- What a finished commit changed: each item before and after, whole; null where there was, or is, none.
      CREATE TABLE memory_images (
        commit_id TEXT NOT NULL REFERENCES memory_commits (id),
        item_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        op TEXT NOT NULL,
        before TEXT,
        after TEXT,
        reason TEXT NOT NULL,
        PRIMARY KEY (commit_id, item_id)
      ) STRICT;
      CREATE INDEX memory_images_item ON memory_images (item_id);

      -- Texts that wait for the owner. Nothing that compiles or searches reads this table.
      CREATE TABLE memory_quarantine (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('pending', 'promoted', 'denied', 'withdrawn')),
        commit_id TEXT NOT NULL REFERENCES memory_commits (id),
        quest_id TEXT,
        -- The edit, as the gates let it through, or the item that was set aside.
        body TEXT NOT NULL,
        why TEXT NOT NULL,
        promoted_by TEXT,
        created_at INTEGER NOT NULL,
        decided_at INTEGER,
        decided_reason TEXT
      ) STRICT;
      CREATE INDEX memory_quarantine_status ON memory_quarantine (status, seq DESC);
      CREATE INDEX memory_quarantine_commit ON memory_quarantine (commit_id);

      CREATE TABLE memory_contexts (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        quest_id TEXT,
        created_at INTEGER NOT NULL,
        body TEXT NOT NULL
      ) STRICT;

      CREATE TABLE memory_job_runs (
        name TEXT NOT NULL,
        workspace TEXT NOT NULL,
        at INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('run', 'failed', 'skipped')),
        detail TEXT NOT NULL,
        receipt_id TEXT,
        duration_ms INTEGER NOT NULL,
        host_id TEXT NOT NULL,
        PRIMARY KEY (name, workspace, at)
      ) STRICT;
    `,
  },
  {
    name: "memory-3-blocks",
    sql: `
      -- Which commits changed a core block, for good: its version is their number, also when their images are gone.
      CREATE TABLE memory_block_changes (
        block TEXT NOT NULL,
        workspace TEXT NOT NULL,
        commit_id TEXT NOT NULL,
        PRIMARY KEY (block, workspace, commit_id)
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER memory_images_block AFTER INSERT ON memory_images
      WHEN coalesce(json_extract(new.after, '$.block'), json_extract(new.before, '$.block')) IS NOT NULL
      BEGIN
        INSERT OR IGNORE INTO memory_block_changes (block, workspace, commit_id)
        VALUES (
          coalesce(json_extract(new.after, '$.block'), json_extract(new.before, '$.block')),
          coalesce(json_extract(new.after, '$.workspace'), json_extract(new.before, '$.workspace')),
          new.commit_id
        );
      END;
      INSERT OR IGNORE INTO memory_block_changes (block, workspace, commit_id)
      SELECT
        coalesce(json_extract(after, '$.block'), json_extract(before, '$.block')),
        coalesce(json_extract(after, '$.workspace'), json_extract(before, '$.workspace')),
        commit_id
      FROM memory_images
      WHERE coalesce(json_extract(after, '$.block'), json_extract(before, '$.block')) IS NOT NULL;

      -- Items of each workspace: how rare a word is does not depend on what other workspaces remember.
      CREATE TABLE memory_sizes (workspace TEXT PRIMARY KEY, items INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO memory_sizes (workspace, items) SELECT workspace, count(*) FROM memory_items GROUP BY workspace;
      CREATE TRIGGER memory_items_more AFTER INSERT ON memory_items BEGIN
        INSERT INTO memory_sizes (workspace, items) VALUES (new.workspace, 1) ON CONFLICT (workspace) DO UPDATE SET items = items + 1;
      END;
      CREATE TRIGGER memory_items_fewer AFTER DELETE ON memory_items BEGIN
        UPDATE memory_sizes SET items = items - 1 WHERE workspace = old.workspace;
      END;
      CREATE TRIGGER memory_items_moved AFTER UPDATE OF workspace ON memory_items WHEN new.workspace <> old.workspace BEGIN
        UPDATE memory_sizes SET items = items - 1 WHERE workspace = old.workspace;
        INSERT INTO memory_sizes (workspace, items) VALUES (new.workspace, 1) ON CONFLICT (workspace) DO UPDATE SET items = items + 1;
      END;

      -- For the compiler: the newest working memory of a task, or of none, whatever else there is.
      CREATE INDEX memory_items_working ON memory_items (workspace, namespace, updated_at DESC) WHERE tier = 'working';
      CREATE INDEX memory_contexts_place ON memory_contexts (workspace, seq DESC);
    `,
  },
  ...memorySearchMigrations,
];
