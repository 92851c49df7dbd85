import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import { busyTimeout, hostsMigration, registerHost } from "./hosts.ts";
import { clockMigration } from "./clock-jumps.ts";
import { prepareOnFirstUse } from "./lazy-statement.ts";
import { leasesMigration } from "./lease.ts";
import { migrate } from "./migrate.ts";
import { nativeBinding } from "./native-binding.ts";
import { databaseFile, isBusy, lockedError, toUserError } from "./sqlite-errors.ts";
import type { Migration, Storage } from "./types.ts";

export { type ExportPiece, syncFolder, writeExportFile } from "./export-file.ts";
export { type ConfigFile, createConfigFile, createLayeredConfig } from "./config-file.ts";
export { readUserFile, writeUserFile } from "./user-file.ts";
export { type Clock, type ClockJump, createClock } from "./clock-jumps.ts";
export { createLease, type Lease } from "./lease.ts";
export { isBusy } from "./sqlite-errors.ts";
export type { Migration, Storage } from "./types.ts";

/** How long (ms) the lock of another process is waited for: in `whenWritable`, and when the database is opened. */
const lockTimeout = 10_000;
/** Delay (ms) between two looks at a lock. */
const lockPoll = 25;

/**
 * Opens or creates `lancelot.sqlite` in `dataDir` and applies pending migrations.
 * @throws LancelotError `unavailable` when the database cannot be read (nothing is deleted), `conflict` when a newer version wrote it
 */
export function openStorage(deps: { dataDir: string; migrations: readonly Migration[] }): Storage {
  const { dataDir } = deps;
  let db: Database.Database;
  let hosts: ReturnType<typeof registerHost>;
  try {
    db = openDatabase(dataDir);
  } catch (error) {
    throw toUserFolderError(toUserError(error));
  }
  try {
    useWriteAheadLog(db);
    // Pages in the process's own memory (KiB); the system keeps the file too. The library's 16 MB made a host grow for a thousand tasks.
    db.pragma("cache_size = -4000");
    db.pragma("foreign_keys = ON");
    // FULL: a commit is on disk when it returns, so a receipt opened before an effect survives a power failure.
    db.pragma("synchronous = FULL");
    // Makes INSERT OR REPLACE fire the triggers that reject deletes.
    db.pragma("recursive_triggers = ON");
    migrate(db, [hostsMigration, leasesMigration, clockMigration, ...deps.migrations]);
    prepareOnFirstUse(db);
    hosts = registerHost(db);
    db.pragma(`busy_timeout = ${busyTimeout}`);
  } catch (error) {
    db.close();
    throw toUserError(error);
  }

  let depth = 0;
  let afterCommit: ((committed: boolean) => void)[] = [];
  const beforeCloseCallbacks: (() => void)[] = [];

  const settle = (committed: boolean): void => {
    const due = afterCommit;
    afterCommit = [];
    for (const callback of due) callback(committed);
  };

  const outermost = <T>(work: () => T): T => {
    if (db.inTransaction) throw new LancelotError("internal", "A transaction was started without storage.transaction.");
    let result: T;
    try {
      db.exec("BEGIN IMMEDIATE");
      depth = 1;
      result = synchronous(work());
      db.exec("COMMIT");
    } catch (error) {
      // SQLite has already rolled back if the disk is full.
      if (db.inTransaction) db.exec("ROLLBACK");
      depth = 0;
      settle(false);
      throw toUserError(error);
    }
    depth = 0;
    settle(true);
    return result;
  };

  const nested = <T>(work: () => T): T => {
    const savepoint = `nested_${depth}`;
    const before = afterCommit.length;
    db.exec(`SAVEPOINT ${savepoint}`);
    depth += 1;
    try {
      const result = synchronous(work());
      db.exec(`RELEASE ${savepoint}`);
      return result;
    } catch (error) {
      if (db.inTransaction) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`);
      for (const callback of afterCommit.splice(before)) callback(false);
      throw toUserError(error);
    } finally {
      depth -= 1;
    }
  };

  const close = (): void => {
    if (!db.open) return;
    process.off("exit", close);
    try {
      for (const callback of beforeCloseCallbacks) callback();
      hosts.unregister();
    } catch (error) {
      throw toUserError(error);
    } finally {
      db.close();
    }
  };
  process.on("exit", close);

  const lookAtLock = {
    begin: db.prepare("BEGIN IMMEDIATE"),
    end: db.prepare("ROLLBACK"),
    noWait: db.prepare("PRAGMA busy_timeout = 0"),
    wait: db.prepare(`PRAGMA busy_timeout = ${busyTimeout}`),
  };
  const isWritable = (): boolean => {
    if (depth > 0 || !db.open) return true;
    lookAtLock.noWait.get();
    try {
      lookAtLock.begin.run();
      lookAtLock.end.run();
      return true;
    } catch (error) {
      // The write itself reports any other error.
      return !isBusy(error);
    } finally {
      lookAtLock.wait.get();
    }
  };

  const whenWritable = async (signal?: AbortSignal): Promise<void> => {
    const from = performance.now();
    while (!isWritable()) {
      if (performance.now() - from > lockTimeout) throw lockedError();
      await wait(lockPoll, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
        throw signal?.reason ?? error;
      });
    }
  };

  return {
    db,
    isWritable,
    whenWritable,
    dataDir,
    hostId: hosts.hostId,
    hostAlive: (hostId) => hosts.alive(hostId),
    transaction: (work) => (depth === 0 ? outermost(work) : nested(work)),
    afterTransaction: (work) => {
      if (depth === 0) work(true);
      else afterCommit.push(work);
    },
    beforeClose: (work) => {
      beforeCloseCallbacks.push(work);
    },
    writeProblem: () => writeProblem(dataDir),
    close,
  };
}

/** Bytes that must be free: enough for the receipts of a task. */
const probeBytes = 256 * 1024;

/** Writes a file, because free space alone does not tell about quotas and read-only disks. */
function writeProblem(dataDir: string): string | null {
  const probe = join(dataDir, `.write-probe-${String(process.pid)}`);
  try {
    writeFileSync(probe, Buffer.alloc(probeBytes, 1));
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOSPC" || code === "EDQUOT"
      ? "The disk of Lancelot's data folder is full, so no action can be recorded. Free some space."
      : `Lancelot cannot write to its data folder (${code ?? "unknown error"}), so no action can be recorded. Check its permissions.`;
  } finally {
    rmSync(probe, { force: true });
  }
}

function openDatabase(dataDir: string): Database.Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, databaseFile);
  // Created here to set its mode, which SQLite also uses for the -wal and -shm files.
  closeSync(openSync(file, "a", 0o600));
  const binding = nativeBinding();
  return new Database(file, { timeout: lockTimeout, ...(binding === null ? {} : { nativeBinding: binding as never }) });
}

/** Retries while the database is busy, because changing the journal mode ignores the busy timeout. The mode is stored in the file. */
function useWriteAheadLog(db: Database.Database): void {
  const from = performance.now();
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - from > lockTimeout) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function synchronous<T>(result: T): T {
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw new LancelotError("internal", "A database transaction received asynchronous work.");
  }
  return result;
}

function toUserFolderError(error: unknown): unknown {
  if (error instanceof LancelotError) return error;
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined || code.startsWith("ERR_")) return error;
  const sentence =
    code === "ENOSPC"
      ? "The disk that holds Lancelot's data folder is full. Free some space and restart Lancelot."
      : "Lancelot's data folder cannot be created or written. Check its path and permissions.";
  return new LancelotError("unavailable", sentence, { data: { reason: code }, cause: error });
}
