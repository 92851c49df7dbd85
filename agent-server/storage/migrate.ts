import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Migration } from "./types.ts";

/**
 * Brings the schema up to date in one IMMEDIATE transaction, so of two hosts that start at once the second finds the work done.
 * What has run is remembered by name: a room may append a migration of its own without renumbering those of other rooms.
 * `user_version` is their number. Throws `conflict`, with nothing changed, when a newer version was here first.
 */
export function migrate(db: Database.Database, migrations: readonly Migration[]): void {
  const names = new Set(migrations.map((migration) => migration.name));
  if (names.size !== migrations.length) throw new LancelotError("internal", "Two database migrations have the same name.");
  if (db.pragma("user_version", { simple: true }) === migrations.length && pending(db, migrations).length === 0) return;
  db.transaction(() => {
    db.exec("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL) STRICT");
    const applied = db.prepare<[], string>("SELECT name FROM migrations").pluck().all();
    if (applied.some((name) => !names.has(name))) {
      throw new LancelotError(
        "conflict",
        "Lancelot's data was written by a newer version. Update Lancelot, or give this version a data folder of its own; nothing was changed.",
      );
    }
    const remember = db.prepare("INSERT INTO migrations (name, applied_at) VALUES (?, ?)");
    for (const migration of pending(db, migrations)) {
      db.exec(migration.sql);
      remember.run(migration.name, new Date().toISOString());
    }
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

function pending(db: Database.Database, migrations: readonly Migration[]): Migration[] {
  const made = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").get() !== undefined;
  if (!made) return [...migrations];
  const applied = new Set(db.prepare<[], string>("SELECT name FROM migrations").pluck().all());
  return migrations.filter((migration) => !applied.has(migration.name));
}
