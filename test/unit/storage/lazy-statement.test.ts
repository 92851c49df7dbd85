import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { prepareOnFirstUse } from "../../../agent-server/storage/lazy-statement.ts";

function database() {
  const db = new Database(":memory:");
  const compiled: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string) => {
    compiled.push(sql);
    return prepare(sql);
  };
  prepareOnFirstUse(db);
  db.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO items VALUES (1, 'one'), (2, 'two')");
  return { db, compiled };
}

it("compiles a statement when it is first used, and once", () => {
  const { db, compiled } = database();
  const select = db.prepare<[number]>("SELECT name FROM items WHERE id = ?");
  expect(compiled).toEqual([]);
  expect(select.get(1)).toEqual({ name: "one" });
  expect(select.get(2)).toEqual({ name: "two" });
  expect(compiled).toEqual(["SELECT name FROM items WHERE id = ?"]);
});

it("keeps and changes what pluck set, before and after the first use", () => {
  const { db } = database();
  const select = db.prepare<[number], string>("SELECT name FROM items WHERE id = ?").pluck();
  expect(select.get(1)).toBe("one");
  expect(select.pluck(false).get(1)).toEqual({ name: "one" });
  expect(db.prepare("SELECT name FROM items").pluck().pluck(false).all()).toEqual([{ name: "one" }, { name: "two" }]);
});

it.each([
  ["run", (db: Database.Database) => db.prepare("DELETE FROM items WHERE id = ?").run(1).changes, 1],
  ["all", (db: Database.Database) => db.prepare("SELECT id FROM items").pluck().all(), [1, 2]],
  ["iterate", (db: Database.Database) => [...db.prepare("SELECT id FROM items").pluck().iterate()], [1, 2]],
  ["raw", (db: Database.Database) => db.prepare("SELECT id, name FROM items").raw().get(), [1, "one"]],
  ["named parameters", (db: Database.Database) => db.prepare("SELECT name FROM items WHERE id = @id").pluck().get({ id: 2 }), "two"],
])("offers %s", (_, use, expected) => expect(use(database().db)).toEqual(expected));

it("reports an error in the SQL at the first use", () => {
  const { db } = database();
  const statement = db.prepare("SELECT nothing FROM nowhere");
  expect(() => statement.get()).toThrow(Database.SqliteError);
});
