// Locks the database of a data folder as another program would, until standard input ends. Prints `locked` when it holds the lock.
// Arguments: data folder, BEGIN statement.
import { join } from "node:path";
import Database from "better-sqlite3";
import { databaseFile } from "../../../../agent-server/storage/sqlite-errors.ts";

const [dataDir = "", begin = "BEGIN EXCLUSIVE"] = process.argv.slice(2);
const db = new Database(join(dataDir, databaseFile), { timeout: 20_000 });
db.exec(begin);
db.exec("UPDATE hosts SET heartbeat = heartbeat");
process.stdout.write("locked\n");
process.stdin.resume();
process.stdin.on("end", () => {
  db.exec("ROLLBACK");
  db.close();
});
