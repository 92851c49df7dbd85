import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import { hostsMigration, registerHost } from "./hosts.ts";
import { leasesMigration } from "./lease.ts";
import { migrate } from "./migrate.ts";
import { nativeBinding } from "./native-binding.ts";
import { databaseFile, wordSqliteError } from "./sqlite-errors.ts";
import type { Migration, Storage } from "./types.ts";

export { type ExportPiece, syncFolder, writeExportFile } from "./export-file.ts";
export { createLayeredSettings } from "./layered-settings.ts";
export { createLease, type Lease } from "./lease.ts";
export type { Migration, Storage } from "./types.ts";

/** Milliseconds a writer waits for another process's transaction. */
const busyTimeout = 10_000;

/**
 * Opens (or makes) `lancelot.sqlite` in `dataDir` and brings its schema up to date.
 * Throws `unavailable` when it cannot be read (nothing is deleted) and `conflict` when a newer version wrote it.
 */
export function openStorage(deps: { dataDir: string; migrations: readonly Migration[] }): Storage {
  const { dataDir } = deps;
  let db: Database.Database;
  let hosts: ReturnType<typeof registerHost>;
  try {
    db = openDatabase(dataDir);
  } catch (error) {
    throw wordFolderError(wordSqliteError(error));
  }
  try {
    useWriteAheadLog(db);
    db.pragma("foreign_keys = ON");
    // FULL: a commit has reached the disk when it returns, so a receipt opened before an effect survives a power cut too.
    db.pragma("synchronous = FULL");
    // So that INSERT OR REPLACE meets the triggers that refuse to delete.
    db.pragma("recursive_triggers = ON");
    migrate(db, [hostsMigration, leasesMigration, ...deps.migrations]);
    hosts = registerHost(db);
  } catch (error) {
    db.close();
    throw wordSqliteError(error);
  }

  let depth = 0;
  let settlers: ((committed: boolean) => void)[] = [];
  const closers: (() => void)[] = [];

  const settle = (committed: boolean): void => {
    const due = settlers;
    settlers = [];
    for (const settler of due) settler(committed);
  };

  const outermost = <T>(work: () => T): T => {
    if (db.inTransaction) throw new LancelotError("internal", "A transaction was begun past storage.transaction.");
    let result: T;
    try {
      db.exec("BEGIN IMMEDIATE");
      depth = 1;
      result = synchronous(work());
      db.exec("COMMIT");
    } catch (error) {
      // SQLite rolls back by itself on a full disk.
      if (db.inTransaction) db.exec("ROLLBACK");
      depth = 0;
      settle(false);
      throw wordSqliteError(error);
    }
    depth = 0;
    settle(true);
    return result;
  };

  const nested = <T>(work: () => T): T => {
    const savepoint = `nested_${depth}`;
    const before = settlers.length;
    db.exec(`SAVEPOINT ${savepoint}`);
    depth += 1;
    try {
      const result = synchronous(work());
      db.exec(`RELEASE ${savepoint}`);
      return result;
    } catch (error) {
      if (db.inTransaction) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`);
      for (const settler of settlers.splice(before)) settler(false);
      throw wordSqliteError(error);
    } finally {
      depth -= 1;
    }
  };

  const close = (): void => {
    if (!db.open) return;
    process.off("exit", close);
    try {
      for (const closer of closers) closer();
      hosts.leave();
    } catch (error) {
      throw wordSqliteError(error);
    } finally {
      db.close();
    }
  };
  process.on("exit", close);

  return {
    db,
    dataDir,
    hostId: hosts.hostId,
    hostAlive: (hostId) => hosts.alive(hostId),
    transaction: (work) => (depth === 0 ? outermost(work) : nested(work)),
    afterTransaction: (work) => {
      if (depth === 0) work(true);
      else settlers.push(work);
    },
    beforeClose: (work) => {
      closers.push(work);
    },
    close,
  };
}

function openDatabase(dataDir: string): Database.Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, databaseFile);
  // Made here for its mode: SQLite gives the -wal and -shm files the permissions of the database.
  closeSync(openSync(file, "a", 0o600));
  const binding = nativeBinding();
  return new Database(file, { timeout: busyTimeout, ...(binding === null ? {} : { nativeBinding: binding as never }) });
}

/** Changing the journal mode does not wait for other connections, so this does. The mode stays with the file. */
function useWriteAheadLog(db: Database.Database): void {
  const deadline = Date.now() + busyTimeout;
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      const busy = error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
      if (!busy || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function synchronous<T>(result: T): T {
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw new LancelotError("internal", "A database transaction was given asynchronous work.");
  }
  return result;
}

function wordFolderError(error: unknown): unknown {
  if (error instanceof LancelotError) return error;
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined || code.startsWith("ERR_")) return error;
  const sentence =
    code === "ENOSPC"
      ? "The disk that holds Lancelot's data folder is full. Free some space and start again."
      : "Lancelot's data folder cannot be made or written. Check its path and permissions.";
  return new LancelotError("unavailable", sentence, { data: { reason: code }, cause: error });
}
