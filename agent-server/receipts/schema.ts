import type { Migration } from "../storage/storage.ts";

/**
 * `ledger` is the truth: rows are only ever added, each with the hash of the one before. `ledger_head` is written with every
 * append, so that a cut tail shows. `receipts` and `receipts_fts` are derived from it for search and may be rebuilt at any time.
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
];
