import Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";

export const databaseFile = "lancelot.sqlite";

const damaged =
  `The database ${databaseFile} in Lancelot's data folder is damaged and was left as it is. Close every window, move ${databaseFile} ` +
  "(with its -wal and -shm files) elsewhere or put a backup in its place, then start Lancelot again.";

/** The sentence for the owner, by the start of SQLite's result code. */
const sentences: readonly (readonly [prefix: string, sentence: string])[] = [
  ["SQLITE_FULL", "The disk that holds Lancelot's data folder is full, so nothing could be recorded. Free some space and try again."],
  ["SQLITE_NOTADB", damaged],
  ["SQLITE_CORRUPT", damaged],
  ["SQLITE_BUSY", "Another window kept Lancelot's database locked for too long. Try again; if it stays, close the other windows."],
  ["SQLITE_READONLY", "Lancelot's database cannot be written. Check the permissions of the data folder."],
  ["SQLITE_CANTOPEN", "Lancelot's database cannot be opened. Check that the data folder exists and may be written."],
  ["SQLITE_PERM", "Lancelot's database cannot be opened. Check the permissions of the data folder."],
  ["SQLITE_IOERR", "The disk refused to read or write Lancelot's database. Check the disk and its free space, then try again."],
];

/**
 * Words an error of SQLite that the owner can do something about as `unavailable`. Every other error comes back as it is: it
 * is a fault in the program (a violated constraint, bad SQL), and its place in the code matters more than its words.
 */
export function wordSqliteError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const found = sentences.find(([prefix]) => error.code.startsWith(prefix));
  return found === undefined ? error : new LancelotError("unavailable", found[1], { data: { reason: error.code }, cause: error });
}
