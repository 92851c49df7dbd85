import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import { usesTextIndex } from "../../../agent-server/receipts/search.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, LedgerFolder, opening } from "../../support/receipts/ledger-folder.ts";

type Filter = Parameters<Ledger["search"]>[0];

let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 0, 1);
  ({ ledger, storage } = folder.host(() => time));
});
afterEach(() => folder.remove());

const found = (filter: Partial<Filter>) => ledger.search({ limit: 50, ...filter }).items.map(({ actionName }) => actionName);
const closed = (name: string, more: Parameters<typeof opening>[1] = {}) => ledger.record(opening(name, more), { status: "success" });
const iso = (at: number) => new Date(at).toISOString();

describe("a search reads the text index", () => {
  it.each<[Partial<Filter>, boolean]>([
    [{}, false],
    [{ questId: "q" }, false],
    [{ query: "-- *" }, false],
    [{ query: "a" }, true],
    [{ status: "success" }, true],
    [{ actionType: "system" }, true],
    [{ tier: "T1" }, true],
    [{ from: "2026-01-01T00:00:00.000Z" }, true],
    [{ to: "2026-01-01T00:00:00.000Z" }, true],
  ])("for %j: %s", (filter, expected) => {
    expect(usesTextIndex({ limit: 1, ...filter })).toBe(expected);
  });
});

describe("a search by an id", () => {
  it("finds that receipt, open or closed, with space around it, unless a filter says otherwise", () => {
    const id = closed("closed", { questId: "q" });
    const pending = ledger.open(opening("open"));
    for (const query of [id, ` ${id}\n`]) expect(found({ query })).toEqual(["closed"]);
    expect(found({ query: pending })).toEqual(["open"]);
    expect(found({ query: id, questId: "q", status: "success", tier: "T1", actionType: "tool_call" })).toEqual(["closed"]);
    for (const filter of [{ questId: "r" }, { status: "failure" }, { tier: "T3" }, { actionType: "system" }] as Partial<Filter>[])
      expect(found({ query: id, ...filter })).toEqual([]);
    expect(found({ query: id.slice(0, -1) })).toEqual([]);
  });

  it("is none with other signs, however many there are", () => {
    closed("closed");
    for (const query of ["' OR 1=1 --", "a".repeat(300), "a-".repeat(150).slice(0, 201)]) expect(found({ query })).toEqual([]);
  });
});

describe("the words of a search", () => {
  it.each([
    ["open", (name: string) => ledger.open(opening(name))],
    ["closed", (name: string) => closed(name)],
  ])("are found in any case and without marks, each at the beginning of a word: %s", (_, write) => {
    write("Café au lait über drei_vier");
    for (const query of ["cafe", "CAFÉ", "uber", "lait caf", "drei", "vier", "drei_vier", "drei_vi", "au-lait"])
      expect([query, found({ query })]).toEqual([query, ["Café au lait über drei_vier"]]);
    for (const query of ["afe", "laits", "cafe tea"]) expect([query, found({ query })]).toEqual([query, []]);
  });

  it("are no more than twenty", () => {
    const text = Array.from({ length: 20 }, (_, index) => `word${String.fromCharCode(97 + index)}`);
    closed(text.join(" "));
    expect(found({ query: text.join(" ") })).toHaveLength(1);
    expect(found({ query: `${text.join(" ")} nowhere` })).toHaveLength(1);
    expect(found({ query: `nowhere ${text.join(" ")}` })).toEqual([]);
  });

  it("may hold what would end a text", () => {
    closed("panel");
    for (const query of ['pan"el', "pan\0el", 'panel"', '"panel"', "panel*", "panel)", "(panel", "NEAR(panel)", "facts : panel"])
      expect(() => found({ query })).not.toThrow();
    expect(found({ query: 'panel"' })).toEqual(["panel"]);
    expect(found({ query: "pan\0" })).toEqual(["panel"]);
  });

  it("do not find what filters are made of", () => {
    closed("panel", { questId: "q" });
    expect(found({ query: "q71" })).toEqual([]);
    expect(found({ query: "s73756363657373" })).toEqual([]);
  });
});

describe("filters", () => {
  beforeEach(() => {
    for (const [name, status] of [
      ["one", "success"],
      ["two", "failure"],
      ["three", "cancelled"],
    ] as const) {
      time += 1_000;
      ledger.close(ledger.open(opening(name)), { status });
    }
    time += 1_000;
    ledger.open(opening("four"));
  });

  it.each<[Partial<Filter>, string[]]>([
    [{ status: "success" }, ["one"]],
    [{ status: "cancelled" }, ["three"]],
    [{ status: "pending" }, ["four"]],
    [{ status: "pending", query: "four" }, ["four"]],
    [{ status: "pending", query: "one" }, []],
    [{ status: "success", query: "four" }, []],
    [{ tier: "T1" }, ["four", "three", "two", "one"]],
    [{ tier: "T2" }, []],
    [{ actionType: "tool_call" }, ["four", "three", "two", "one"]],
    [{ actionType: "llm_call" }, []],
  ])("of %j", (filter, names) => {
    expect(found(filter)).toEqual(names);
  });

  it("of times take both ends in, for what is open too", () => {
    expect(found({ from: iso(time) })).toEqual(["four"]);
    expect(found({ from: iso(time + 1) })).toEqual([]);
    expect(found({ from: iso(time - 1_000), to: iso(time - 1_000) })).toEqual(["three"]);
    expect(found({ to: iso(time - 3_000) })).toEqual(["one"]);
    expect(found({ to: iso(time - 3_001) })).toEqual([]);
    expect(found({ from: iso(time - 2_000), query: "three" })).toEqual(["three"]);
    expect(found({ from: iso(time), query: "three" })).toEqual([]);
  });
});

describe("what is open and what is closed", () => {
  it("stand among each other in the order they were opened", () => {
    for (const name of ["one", "two", "three", "four"]) {
      if (name === "two" || name === "four") closed(name);
      else ledger.open(opening(name));
    }
    ledger.flush();
    expect(found({ tier: "T1" })).toEqual(["four", "three", "two", "one"]);
    expect(found({ query: "app" })).toEqual(["four", "three", "two", "one"]);
  });

  it("are passed over by words where their entry was destroyed", () => {
    ledger.open(opening("lost"));
    ledger.open(opening("kept"));
    expect(found({})).toEqual(["kept", "lost"]);
    dropTriggers(storage);
    storage.db.exec("UPDATE ledger SET body = 'garbage' WHERE seq = 1");
    expect(found({ query: "app" })).toEqual(["kept"]);
    expect(found({ status: "pending" })).toEqual(["kept", "unreadable entry"]);
  });
});

describe("pages", () => {
  it.each<[string, Partial<Filter>]>([
    ["of everything", {}],
    ["of a word", { query: "page" }],
    ["of a filter", { tier: "T1" }],
  ])("%s continue where there is more, and end where there is none", (_, filter) => {
    for (let index = 0; index < 3; index += 1) closed(`page ${index}`);
    ledger.open(opening("page 3"));
    ledger.open(opening("page 4"));
    const first = ledger.search({ limit: 3, ...filter });
    expect(first.items.map(({ actionName }) => actionName)).toEqual(["page 4", "page 3", "page 2"]);
    const rest = ledger.search({ limit: 3, ...filter, cursor: first.nextCursor });
    expect(rest.items.map(({ actionName }) => actionName)).toEqual(["page 1", "page 0"]);
    expect("nextCursor" in rest).toBe(false);
    expect("nextCursor" in ledger.search({ limit: 5, ...filter })).toBe(false);
    expect(ledger.search({ limit: 4, ...filter }).nextCursor).toMatch(/^\d+$/);
    expect(ledger.search({ limit: 3, ...filter, cursor: "1" }).items).toEqual([]);
  });

  it.each(["", "-1", "1e3", "1 OR 1", "1234567890123456", "x1", "1x"])("do not begin at %j", (cursor) => {
    expect(() => ledger.search({ limit: 1, cursor })).toThrow(
      expect.objectContaining({
        code: "invalid_params",
        message: "The cursor is not valid. Use the nextCursor of a receipts.search result.",
      }),
    );
  });

  it("may begin past everything there is", () => {
    closed("one");
    expect(found({ cursor: "123456789012345" })).toEqual(["one"]);
  });
});

describe("a search of an index that is not as it should be", () => {
  it("finds nothing in a part that another window dropped, and fails at any other fault", () => {
    closed("one");
    expect(found({ query: "one" })).toEqual(["one"]);
    storage.db.exec("DROP TABLE receipts_fts_0");
    expect(found({ query: "one" })).toEqual([]);
    expect(found({ query: "one", tier: "T1" })).toEqual([]);
    storage.db.exec("CREATE TABLE receipts_fts_0 (x TEXT)");
    expect(() => found({ query: "one" })).toThrow();
    expect(() => found({ tier: "T1" })).toThrow();
  });
});
