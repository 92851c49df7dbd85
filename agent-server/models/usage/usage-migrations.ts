import type { Migration } from "../../storage/storage.ts";

export const usageMigrations: readonly Migration[] = [
  {
    name: "usage-1-calls",
    // Money is stored as whole nano-dollars, so that sums are exact. `cost` is null without a price.
    sql: `
      CREATE TABLE usage_calls (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        day TEXT NOT NULL,
        quest_id TEXT,
        provider TEXT NOT NULL,
        kind TEXT NOT NULL,
        model TEXT NOT NULL,
        lane TEXT NOT NULL,
        on_this_machine INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cached_input_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        long_cache_write_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        tool_tokens INTEGER NOT NULL,
        cost INTEGER,
        cache_savings INTEGER NOT NULL,
        receipt_id TEXT
      ) STRICT;
      CREATE INDEX usage_calls_by_day ON usage_calls (day);
      CREATE INDEX usage_calls_by_quest ON usage_calls (quest_id);
      CREATE TABLE usage_reservations (
        id TEXT PRIMARY KEY,
        host_id TEXT NOT NULL,
        quest_id TEXT,
        amount INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE usage_since (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        since TEXT
      ) STRICT;
      INSERT INTO usage_since VALUES (1, NULL);
    `,
  },
];
