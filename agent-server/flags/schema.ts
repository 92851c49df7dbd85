import type { Migration } from "../storage/storage.ts";

export const flagsMigrations: readonly Migration[] = [
  {
    name: "flags-1-safe-mode",
    sql: `
      CREATE TABLE safe_mode (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        enabled INTEGER NOT NULL,
        changed_at TEXT NOT NULL
      ) STRICT;
      INSERT INTO safe_mode VALUES (1, 0, '');
    `,
  },
  {
    name: "flags-2-sleep",
    sql: `
      CREATE TABLE sleep (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        reason TEXT NOT NULL,
        since TEXT NOT NULL
      ) STRICT;
    `,
  },
];
