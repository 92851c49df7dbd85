import type { Migration } from "../storage/storage.ts";

/**
 * `ledger` is the source of truth: rows are only added, each with the hash of the previous one. `ledger_head` is updated with every
 * append, so that a truncated tail is detected. Signed heads, their keys and the records of sealed segments are never removed; an
 * entry may be deleted only when a segment contains it. The table `receipts` and the text indexes `receipts_fts_<part>` (one per range
 * of the ledger) are derived asynchronously and can be rebuilt at any time.
 */
export const receiptsMigrations: readonly Migration[] = [
  {
    name: "receipts-1-ledger",
    sql: `
      CREATE TABLE ledger (
        seq INTEGER PRIMARY KEY,
        receipt_id TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('open', 'close')),
        body TEXT NOT NULL,
        hash TEXT NOT NULL,
        prev_hash TEXT NOT NULL
      ) STRICT;
      CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
      CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

      CREATE TABLE ledger_head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL
      ) STRICT;
      INSERT INTO ledger_head (id, seq, hash) VALUES (1, 0, '${"0".repeat(64)}');
      CREATE TRIGGER ledger_head_forward BEFORE UPDATE ON ledger_head WHEN NEW.seq <= OLD.seq
        BEGIN SELECT RAISE(ABORT, 'the head of the ledger only moves forward'); END;
      CREATE TRIGGER ledger_head_no_insert BEFORE INSERT ON ledger_head
        BEGIN SELECT RAISE(ABORT, 'the head of the ledger only moves forward'); END;
      CREATE TRIGGER ledger_head_no_delete BEFORE DELETE ON ledger_head
        BEGIN SELECT RAISE(ABORT, 'the head of the ledger only moves forward'); END;

      CREATE TABLE receipts (
        open_seq INTEGER PRIMARY KEY,
        close_seq INTEGER,
        id TEXT NOT NULL UNIQUE,
        opened_at INTEGER NOT NULL,
        host_id TEXT,
        status TEXT NOT NULL,
        action_type TEXT NOT NULL,
        risk_tier TEXT NOT NULL,
        quest_id TEXT,
        parent_id TEXT
      ) STRICT;
      CREATE INDEX receipts_quest ON receipts (quest_id) WHERE quest_id IS NOT NULL;
      CREATE INDEX receipts_parent ON receipts (parent_id) WHERE parent_id IS NOT NULL;
      CREATE INDEX receipts_open ON receipts (host_id) WHERE close_seq IS NULL;

      CREATE VIRTUAL TABLE receipts_fts USING fts5(content, content='', detail='full', tokenize='unicode61');
      CREATE TABLE receipts_index (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        indexed_seq INTEGER NOT NULL
      ) STRICT;
      INSERT INTO receipts_index (id, indexed_seq) VALUES (1, 0);
    `,
  },
  {
    name: "receipts-2-signatures-and-segments",
    sql: `
      CREATE TABLE ledger_identity (id INTEGER PRIMARY KEY CHECK (id = 1), ledger_id TEXT NOT NULL) STRICT;
      INSERT INTO ledger_identity (id, ledger_id) VALUES (1, lower(hex(randomblob(16))));
      ${appendOnly("ledger_identity", "the identity of the ledger stays")}

      CREATE TABLE ledger_keys (
        key_id TEXT PRIMARY KEY,
        public_key TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      ${appendOnly("ledger_keys", "the keys of the ledger are append-only")}

      CREATE TABLE ledger_signatures (
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        at INTEGER NOT NULL,
        key_id TEXT NOT NULL,
        signature TEXT NOT NULL,
        PRIMARY KEY (seq, key_id)
      ) STRICT, WITHOUT ROWID;
      ${appendOnly("ledger_signatures", "the signatures of the ledger are append-only")}

      CREATE TABLE ledger_segments (
        from_seq INTEGER PRIMARY KEY,
        to_seq INTEGER NOT NULL UNIQUE CHECK (to_seq >= from_seq),
        prev_hash TEXT NOT NULL,
        last_hash TEXT NOT NULL,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        file TEXT NOT NULL UNIQUE,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      ${appendOnly("ledger_segments", "sealed segments are append-only")}
      CREATE TRIGGER ledger_segments_follow BEFORE INSERT ON ledger_segments
        WHEN NEW.from_seq <> coalesce((SELECT max(to_seq) FROM ledger_segments), 0) + 1
          OR NEW.prev_hash IS NOT (SELECT prev_hash FROM ledger WHERE seq = NEW.from_seq)
          OR NEW.last_hash IS NOT (SELECT hash FROM ledger WHERE seq = NEW.to_seq)
        BEGIN SELECT RAISE(ABORT, 'a sealed segment continues from the one before and holds what the ledger holds'); END;

      DROP TRIGGER ledger_no_delete;
      CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger
        WHEN OLD.seq > coalesce((SELECT max(to_seq) FROM ledger_segments), 0)
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

      CREATE TABLE ledger_leases (
        name TEXT PRIMARY KEY,
        host_id TEXT NOT NULL,
        until INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    // Rebuilds the derived tables from the start of the ledger: they are now updated asynchronously, in slices.
    name: "receipts-3-derived-behind-the-writes",
    sql: `
      DROP TABLE receipts_fts;
      DROP TABLE receipts_index;
      DELETE FROM receipts;
      CREATE TABLE receipts_progress (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        projected_seq INTEGER NOT NULL,
        indexed_seq INTEGER NOT NULL
      ) STRICT;
      INSERT INTO receipts_progress (id, projected_seq, indexed_seq) VALUES (1, 0, 0);
      CREATE TABLE receipts_parts (
        part INTEGER PRIMARY KEY,
        min_at INTEGER NOT NULL,
        max_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  // Leases moved to the storage module.
  { name: "receipts-4-leases-elsewhere", sql: "DROP TABLE ledger_leases;" },
];

/** Triggers that reject UPDATE and DELETE; INSERT OR REPLACE deletes, so it is rejected too. */
function appendOnly(table: string, message: string): string {
  return ["UPDATE", "DELETE"]
    .map(
      (verb) => `CREATE TRIGGER ${table}_no_${verb.toLowerCase()} BEFORE ${verb} ON ${table} BEGIN SELECT RAISE(ABORT, '${message}'); END;`,
    )
    .join("\n      ");
}
