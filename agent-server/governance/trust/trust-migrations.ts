import type { Migration } from "../../storage/storage.ts";

export const trustMigrations: readonly Migration[] = [
  {
    name: "trust-1-records",
    sql: `
      -- One row per default tier of an action, so that calls which policy raises to another tier are counted separately.
      CREATE TABLE trust_records (
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT NOT NULL,
        default_tier TEXT NOT NULL,
        tier TEXT NOT NULL,
        successes INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        rollbacks INTEGER NOT NULL,
        cool_down INTEGER NOT NULL,
        held_by TEXT,
        changes_files INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (capability, action, scope, default_tier)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX trust_records_updated ON trust_records (updated_at);
      CREATE INDEX trust_records_moved ON trust_records (tier) WHERE tier <> default_tier;
      CREATE TABLE trust_proposals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT NOT NULL,
        default_tier TEXT NOT NULL,
        from_tier TEXT NOT NULL,
        to_tier TEXT NOT NULL,
        reason TEXT NOT NULL,
        -- 1: asks the owner to confirm a tier that the circuit breaker suspended.
        confirms INTEGER NOT NULL,
        status TEXT NOT NULL,
        receipt_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        decided_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX trust_proposals_pending ON trust_proposals (capability, action, scope, default_tier) WHERE status = 'pending';
      CREATE INDEX trust_proposals_status ON trust_proposals (status, seq);
      -- Recorded outcomes, so that each receipt counts once.
      CREATE TABLE trust_outcomes (
        receipt_id TEXT NOT NULL,
        capability TEXT NOT NULL,
        action TEXT NOT NULL,
        scope TEXT NOT NULL,
        default_tier TEXT NOT NULL,
        result TEXT NOT NULL,
        -- 1: decided at a tier below the default.
        lifted INTEGER NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (receipt_id, capability, action, scope, default_tier)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX trust_outcomes_at ON trust_outcomes (at);
      CREATE INDEX trust_outcomes_lifted ON trust_outcomes (capability, at) WHERE lifted = 1;
      CREATE TABLE trust_breakers (capability TEXT PRIMARY KEY, tripped_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
  },
];
