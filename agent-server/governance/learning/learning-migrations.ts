import type { Migration } from "../../storage/storage.ts";

export const learningMigrations: readonly Migration[] = [
  {
    name: "learning-1-rules",
    sql: `
      CREATE TABLE learning_observations (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        approval_id TEXT NOT NULL UNIQUE,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT NOT NULL,
        verdict TEXT NOT NULL,
        -- 0: an answer about an action that no learned rule may decide.
        counts INTEGER NOT NULL,
        quest_id TEXT,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX learning_observations_pattern ON learning_observations (capability, action, scope, at) WHERE counts = 1;
      CREATE INDEX learning_observations_at ON learning_observations (at);
      CREATE TABLE learning_proposals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT,
        verdict TEXT NOT NULL,
        observations INTEGER NOT NULL,
        consistency REAL NOT NULL,
        words TEXT NOT NULL,
        status TEXT NOT NULL,
        -- The last observation when it was declined; only later ones count as new.
        seen_until INTEGER,
        receipt_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        decided_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX learning_proposals_pending ON learning_proposals (capability, action, ifnull(scope, char(0))) WHERE status = 'pending';
      CREATE INDEX learning_proposals_status ON learning_proposals (status, seq);
      CREATE TABLE learned_rules (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT,
        verdict TEXT NOT NULL,
        status TEXT NOT NULL,
        -- Why it needs confirmation.
        waits_for TEXT,
        -- The UTC day of decided_today.
        day TEXT NOT NULL,
        decided_today INTEGER NOT NULL,
        -- Since the last confirmation.
        decided_in_all INTEGER NOT NULL,
        max_per_day INTEGER NOT NULL,
        max_in_all INTEGER NOT NULL,
        seen_until INTEGER,
        receipt_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        confirmed_at INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX learned_rules_pattern ON learned_rules (capability, action, ifnull(scope, char(0))) WHERE status <> 'revoked';
      -- Which rule allowed a receipt's action, in case the owner undoes it.
      CREATE TABLE learned_uses (
        receipt_id TEXT NOT NULL,
        rule_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (receipt_id, rule_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX learned_uses_at ON learned_uses (at);`,
  },
];
