import type Database from "better-sqlite3";

/** One step of the schema, known by its name for good: never rename or edit one that has shipped, append another. */
export interface Migration {
  /** `<room>-<number>-<what>`, unique in the product. */
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
  /**
   * Runs `work` in `BEGIN IMMEDIATE`; nested calls join the outer transaction (an inner one that throws undoes its own part).
   * `work` is synchronous. What SQLite reports of disk, locks and damage is thrown as `unavailable`.
   */
  transaction<T>(work: () => T): T;
  /** Runs `work` when the running transaction has ended, told whether what it wrote so far was committed; at once when there is none. */
  afterTransaction(work: (committed: boolean) => void): void;
  /** Runs `work` before the database closes, at the latest when the process exits by itself. */
  beforeClose(work: () => void): void;
  close(): void;
}
