import Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";

export const databaseFile = "lancelot.sqlite";

const damaged =
  `The database ${databaseFile} in Lancelot's data folder is damaged and was not changed. Close every window, move ${databaseFile} ` +
  "(with its -wal and -shm files) elsewhere or replace it with a backup, then restart Lancelot.";

const locked =
  "Another program or window locked Lancelot's database for too long, so nothing was written. Try again; if this persists, close the other " +
  "windows and programs that use the data folder.";

/** User-facing messages by prefix of SQLite's result code. */
const messages: readonly (readonly [prefix: string, message: string])[] = [
  ["SQLITE_FULL", "The disk that holds Lancelot's data folder is full, so nothing could be recorded. Free some space and try again."],
  ["SQLITE_NOTADB", damaged],
  ["SQLITE_CORRUPT", damaged],
  ["SQLITE_BUSY", locked],
  ["SQLITE_READONLY", "Lancelot's database is read-only. Check the permissions of the data folder."],
  ["SQLITE_CANTOPEN", "Lancelot's database cannot be opened. Check that the data folder exists and may be written."],
  ["SQLITE_PERM", "Lancelot's database cannot be opened. Check the permissions of the data folder."],
  ["SQLITE_IOERR", "Lancelot's database could not be read or written (I/O error). Check the disk and its free space, then try again."],
];

/** True when another connection holds the lock: for errors of SQLite, and of `toUserError`. */
export function isBusy(error: unknown): boolean {
  const code = error instanceof Database.SqliteError ? error.code : error instanceof LancelotError ? error.data?.["reason"] : undefined;
  return typeof code === "string" && code.startsWith("SQLITE_BUSY");
}

/** The error of a lock that was waited for in vain. */
export function lockedError(): LancelotError {
  return new LancelotError("unavailable", locked, { data: { reason: "SQLITE_BUSY" } });
}

/**
 * Converts SQLite errors that the user can fix to `unavailable`. Returns every other error unchanged: it is a bug (a violated
 * constraint, invalid SQL), for which the stack trace matters more than the message.
 */
export function toUserError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const found = messages.find(([prefix]) => error.code.startsWith(prefix));
  return found === undefined ? error : new LancelotError("unavailable", found[1], { data: { reason: error.code }, cause: error });
}
