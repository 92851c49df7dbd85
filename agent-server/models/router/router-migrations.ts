import type { Migration } from "../../storage/storage.ts";

export const routerMigrations: readonly Migration[] = [
  {
    name: "router-1-decisions",
    sql: `
      CREATE TABLE router_decisions (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        quest_id TEXT,
        host_id TEXT NOT NULL,
        running INTEGER NOT NULL,
        decision TEXT NOT NULL     -- as the contract has it
      ) STRICT;
    `,
  },
];
