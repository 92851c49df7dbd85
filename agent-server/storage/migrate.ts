import type Database from "better-sqlite3";
import { LancelotError } from "../contract/errors.ts";
import type { Migration } from "./types.ts";

/**
 * Applies pending migrations in one IMMEDIATE transaction, so that of two hosts starting at once the second has nothing to do.
 * Applied migrations are recorded by name, so each module can append its own without renumbering others. `user_version` is their
 * number.
 * @throws LancelotError `conflict`, with nothing changed, when a newer version wrote the database
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
        "A newer version of Lancelot wrote this data folder. Update Lancelot, or use another data folder. Nothing was changed.",
      );
    }
    const markApplied = db.prepare("INSERT INTO migrations (name, applied_at) VALUES (?, ?)");
    for (const migration of pending(db, migrations)) {
      db.exec(migration.sql);
      markApplied.run(migration.name, new Date().toISOString());
    }
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

function pending(db: Database.Database, migrations: readonly Migration[]): Migration[] {
  const hasTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").get() !== undefined;
  if (!hasTable) return [...migrations];
  const applied = new Set(db.prepare<[], string>("SELECT name FROM migrations").pluck().all());
  return migrations.filter((migration) => !applied.has(migration.name));
}
