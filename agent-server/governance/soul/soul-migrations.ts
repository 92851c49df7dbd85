import type { Migration } from "../../storage/storage.ts";

/**
 * `soul_versions` holds the signed text of each version; this text is active, whatever happens to its file.
 * `soul_activations` is the history of activations. `soul_activating` is the activation in progress.
 */
export const soulMigrations: readonly Migration[] = [
  {
    name: "soul-1-versions",
    sql: `
      CREATE TABLE soul_versions (
        version TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE,
        sha256 TEXT NOT NULL,
        yaml TEXT NOT NULL,
        -- shipped, proposal, or found: added to the folder by hand.
        origin TEXT NOT NULL,
        proposal_id TEXT,
        recorded_at TEXT NOT NULL
      ) STRICT;
      CREATE TRIGGER soul_versions_no_update BEFORE UPDATE ON soul_versions WHEN EXISTS
        (SELECT 1 FROM soul_activations WHERE version = OLD.version)
        BEGIN SELECT RAISE(ABORT, 'a version of the soul is written once'); END;
      CREATE TRIGGER soul_versions_no_delete BEFORE DELETE ON soul_versions WHEN EXISTS
        (SELECT 1 FROM soul_activations WHERE version = OLD.version)
        BEGIN SELECT RAISE(ABORT, 'a version of the soul is written once'); END;

      CREATE TABLE soul_activations (
        seq INTEGER PRIMARY KEY,
        version TEXT NOT NULL REFERENCES soul_versions (version),
        at TEXT NOT NULL
      ) STRICT;

      CREATE TABLE soul_activating (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        version TEXT NOT NULL,
        proposal_id TEXT,
        host_id TEXT NOT NULL,
        receipt_id TEXT NOT NULL
      ) STRICT;

      CREATE TABLE soul_problem (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        problem TEXT NOT NULL
      ) STRICT;

      CREATE TABLE soul_proposals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        from_version TEXT NOT NULL,
        -- Hash of the proposal's base text.
        from_sha256 TEXT NOT NULL,
        to_version TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL,
        proposed_by TEXT NOT NULL,
        quest_id TEXT,
        yaml TEXT NOT NULL,
        diff TEXT NOT NULL,
        issues TEXT NOT NULL,
        created_at TEXT NOT NULL,
        decided_at TEXT
      ) STRICT;
      CREATE INDEX soul_proposals_status ON soul_proposals (status, seq);`,
  },
];
