import type Database from "better-sqlite3";

/** One step of the schema. Its place in the host's list is its number (`user_version`): only ever append. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** The data folder and its database, shared by every host (window) of this owner. */
export interface Storage {
  readonly db: Database.Database;
  readonly dataDir: string;
  /** Identity of this host process in rows that must be reconciled when it dies. */
  readonly hostId: string;
  /** True while the host process that wrote `hostId` lives. */
  hostAlive(hostId: string): boolean;
  /** Runs `work` in `BEGIN IMMEDIATE`; nested calls join the outer transaction. */
  transaction<T>(work: () => T): T;
  close(): void;
}
