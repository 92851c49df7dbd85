import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { type Migration, openStorage, type Storage } from "../../../agent-server/storage/storage.ts";

const expectedText: Migration = { name: "words-1", sql: "CREATE TABLE words (word TEXT PRIMARY KEY) STRICT" };
const numbers: Migration = { name: "numbers-1", sql: "CREATE TABLE numbers (number INTEGER) STRICT" };

let dataDir: string;
let opened: Storage[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-storage-"));
  opened = [];
});
afterEach(() => {
  for (const storage of opened) storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(migrations: readonly Migration[] = [expectedText]): Storage {
  const storage = openStorage({ dataDir, migrations });
  opened.push(storage);
  return storage;
}

function errorOf(work: () => unknown): LancelotError {
  try {
    work();
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

const all = (storage: Storage) => storage.db.prepare("SELECT word FROM words ORDER BY word").pluck().all();
const add = (storage: Storage, word: string) => storage.db.prepare("INSERT INTO words VALUES (?)").run(word);

describe("opening", () => {
  it("makes the folder and a durable, write-ahead database with foreign keys", () => {
    dataDir = join(dataDir, "new", "folder");
    const { db } = open();
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(db.pragma("foreign_keys", { simple: true })).toBe(1);
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
  });

  it.skipIf(process.platform === "win32")("lets nobody else read the database", () => {
    const storage = open();
    add(storage, "one");
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(join(dataDir, `lancelot.sqlite${suffix}`)).mode & 0o077).toBe(0);
  });

  it("keeps what was written for the next time", () => {
    const first = open();
    add(first, "kept");
    first.close();
    expect(all(open())).toEqual(["kept"]);
  });

  it("runs a migration that a module appends, also before those of another module", () => {
    open([expectedText, numbers]).close();
    const more: Migration = { name: "words-2", sql: "ALTER TABLE words ADD COLUMN language TEXT" };
    const storage = open([expectedText, more, numbers]);
    expect(storage.db.prepare("SELECT language FROM words").all()).toEqual([]);
  });

  it("changes nothing when one of several migrations fails", () => {
    expect(() => open([expectedText, { name: "broken-1", sql: "CREATE TABLE other (a); CREATE NONSENSE" }])).toThrow(/NONSENSE/);
    const db = new Database(join(dataDir, "lancelot.sqlite"));
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()).toEqual([]);
    db.close();
  });

  it("refuses data of a newer version and leaves it as it is", () => {
    const newer = open([expectedText, numbers]);
    add(newer, "kept");
    newer.close();
    const error = errorOf(() => open([expectedText]));
    expect(error.code).toBe("conflict");
    expect(error.message).toMatch(/newer version/);
    expect(all(open([expectedText, numbers]))).toEqual(["kept"]);
  });

  it.each([
    ["no database at all", Buffer.from("this is a letter, not a database, and long enough to be read as one".repeat(100))],
    ["a header and then noise", Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(8000, 0xa5)])],
  ])("says what to do about a damaged file (%s), and deletes nothing", (_, content) => {
    const file = join(dataDir, "lancelot.sqlite");
    writeFileSync(file, content);
    const error = errorOf(() => open());
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(/damaged.*Close every window.*backup/);
    expect(error.message).not.toContain(dataDir);
    expect(readFileSync(file)).toEqual(content);
  });

  it("says so when the folder cannot be made", () => {
    writeFileSync(join(dataDir, "file"), "");
    dataDir = join(dataDir, "file");
    const error = errorOf(() => open());
    expect(error.code).toBe("unavailable");
    dataDir = join(dataDir, "..");
  });
});

describe("transactions", () => {
  it("undo everything when the work throws, and hand the error on", () => {
    const storage = open();
    expect(() =>
      storage.transaction(() => {
        add(storage, "lost");
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(all(storage)).toEqual([]);
    storage.transaction(() => add(storage, "next"));
    expect(all(storage)).toEqual(["next"]);
  });

  it("join the one around them", () => {
    const storage = open();
    expect(() =>
      storage.transaction(() => {
        storage.transaction(() => add(storage, "inner"));
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(all(storage)).toEqual([]);
  });

  it("undo only the inner part when the outer one continues", () => {
    const storage = open();
    storage.transaction(() => {
      add(storage, "before");
      expect(() =>
        storage.transaction(() => {
          add(storage, "inner");
          throw new Error("no");
        }),
      ).toThrow("no");
      add(storage, "after");
    });
    expect(all(storage)).toEqual(["after", "before"]);
  });

  it("tell who asked how each part of it ended, when it has ended", () => {
    const storage = open();
    const heard: string[] = [];
    const listen = (name: string) =>
      storage.afterTransaction((committed) => heard.push(`${name} ${committed} ${storage.db.inTransaction}`));
    storage.transaction(() => {
      listen("outer");
      try {
        storage.transaction(() => {
          listen("undone");
          throw new Error("no");
        });
      } catch {
        listen("rest");
      }
    });
    expect(heard).toEqual(["undone false true", "outer true false", "rest true false"]);
    expect(() =>
      storage.transaction(() => {
        listen("failed");
        throw new Error("no");
      }),
    ).toThrow();
    listen("none running");
    expect(heard.slice(3)).toEqual(["failed false false", "none running true false"]);
  });

  it("refuse asynchronous work and keep nothing of it", () => {
    const storage = open();
    const work = async () => add(storage, "too early");
    expect(() => storage.transaction(work)).toThrow(/asynchronous/);
    expect(all(storage)).toEqual([]);
  });

  it("say that the disk is full, keep what was there and continue when there is space again", () => {
    const storage = open();
    add(storage, "kept");
    const pages = storage.db.pragma("page_count", { simple: true });
    storage.db.pragma(`max_page_count = ${pages as number}`);
    const fill = () =>
      storage.transaction(() => {
        for (let index = 0; index < 200; index += 1) add(storage, `${index}`.padStart(500, "x"));
      });
    const error = errorOf(fill);
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(/disk.*full.*Free some space/);
    expect(all(storage)).toEqual(["kept"]);
    storage.db.pragma("max_page_count = 100000");
    fill();
    expect(all(storage)).toHaveLength(201);
  });

  it("leave faults of the program as they are", () => {
    const storage = open();
    add(storage, "one");
    expect(() => storage.transaction(() => add(storage, "one"))).toThrow(Database.SqliteError);
  });
});

describe("hosts", () => {
  it("are alive while they are open, each with a name of its own", () => {
    const first = open();
    const second = open();
    expect(first.hostId).not.toBe(second.hostId);
    expect([first.hostAlive(second.hostId), second.hostAlive(first.hostId), first.hostAlive("host_unknown")]).toEqual([true, true, false]);
    second.close();
    expect(first.hostAlive(second.hostId)).toBe(false);
  });

  it.runIf(process.platform === "linux")("are dead when another process has got their pid", () => {
    const watcher = open();
    const host = open();
    watcher.db.prepare("UPDATE hosts SET started = '1' WHERE host_id = ?").run(host.hostId);
    expect(watcher.hostAlive(host.hostId)).toBe(false);
  });

  it.each([
    ["spoke just now", 0, true],
    ["fell silent", 120_000, false],
  ])("of another machine that %s", (_, silence, alive) => {
    const storage = open();
    storage.db.prepare("INSERT INTO hosts VALUES ('elsewhere', 1, 'another machine', '', ?)").run(Date.now() - silence);
    expect(storage.hostAlive("elsewhere")).toBe(alive);
  });
});

it("runs what is to be done before closing, once", () => {
  const storage = open();
  storage.beforeClose(() => add(storage, "last words"));
  storage.close();
  storage.close();
  expect(all(open())).toEqual(["last words"]);
});
