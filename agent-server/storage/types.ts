import type Database from "better-sqlite3";

/** One step of the schema, identified by its name. Never rename or edit a shipped migration; append another. */
export interface Migration {
  /** `<module>-<number>-<subject>`, unique in the product. */
  readonly name: string;
  readonly sql: string;
}

/** The data folder and its database, shared by every host (window) of this owner. */
export interface Storage {
  readonly db: Database.Database;
  readonly dataDir: string;
  /** Identifies this host process in rows that must be reconciled after its death. */
  readonly hostId: string;
  /** True while the host process with this id is alive. */
  hostAlive(hostId: string): boolean;
  /**
   * Runs synchronous `work` in `BEGIN IMMEDIATE`. Nested calls use savepoints, so a nested call that throws rolls back its own part.
   * @throws LancelotError `unavailable` for SQLite errors about disk, locks and corruption
   */
  transaction<T>(work: () => T): T;
  /** Runs `work` after the current transaction, with whether its writes so far were committed; immediately without a transaction. */
  afterTransaction(work: (committed: boolean) => void): void;
  /** Runs `work` before the database closes, at the latest when the process exits normally. */
  beforeClose(work: () => void): void;
  close(): void;
}
