import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile } from "../../agent-server/storage/sqlite-errors.ts";
import { type Migration, openStorage, type Storage } from "../../agent-server/storage/storage.ts";

/** Databases that were migrated once and closed, by their migrations. */
const migrated = new Map<string, Buffer>();

/** `openStorage`, with a copy of a migrated database in a new folder: the migrations take longer than most tests. */
export function openMigratedStorage(deps: { dataDir: string; migrations: readonly Migration[] }): Storage {
  const file = join(deps.dataDir, databaseFile);
  if (!existsSync(file)) {
    mkdirSync(deps.dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(file, databaseOf(deps.migrations), { mode: 0o600 });
  }
  return openStorage(deps);
}

function databaseOf(migrations: readonly Migration[]): Buffer {
  const key = JSON.stringify(migrations);
  const known = migrated.get(key);
  if (known !== undefined) return known;
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-migrated-"));
  try {
    openStorage({ dataDir, migrations }).close();
    const bytes = readFileSync(join(dataDir, databaseFile));
    migrated.set(key, bytes);
    return bytes;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
