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
  /** Whether a transaction could begin now. Work that can wait checks it, because a transaction blocks the event loop while it waits. */
  isWritable(): boolean;
  /**
   * Waits, without blocking the event loop, until no other process holds the database's write lock. Call it before writes that follow
   * without another `await`.
   * @throws LancelotError `unavailable` when the lock is held for ten seconds; the reason of the signal
   */
  whenWritable(signal?: AbortSignal): Promise<void>;
  /** Runs `work` after the current transaction, with whether its writes so far were committed; immediately without a transaction. */
  afterTransaction(work: (committed: boolean) => void): void;
  /** Runs `work` before the database closes, at the latest when the process exits normally. */
  beforeClose(work: () => void): void;
  /** User-facing reason why nothing can be written to the data folder, such as a full disk; null when it can. */
  writeProblem(): string | null;
  close(): void;
}
