import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { receiptsHandlers } from "../../../agent-server/receipts/handlers.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import { dropTextIndex, facetTokens, textParts } from "../../../agent-server/receipts/text-index.ts";
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
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);
/** Entries that one part of the index covers. */
const inPart = 131_072;

/** The ledger as it is after so many entries, without them. */
function jumpTo(seq: number): void {
  sql("UPDATE ledger_head SET seq = ?", seq);
  sql("UPDATE receipts_progress SET projected_seq = ?, indexed_seq = ?", seq, seq);
}
/** Closed receipts a second apart. */
function fill(count: number, name: string): void {
  for (let index = 0; index < count; index += 1) {
    time += 1_000;
    ledger.record(opening(`${name} ${index}`), { status: "success" });
  }
  ledger.flush();
}

describe("the text index", () => {
  it("has a word of letters and digits for each filter", () => {
    expect(facetTokens({ status: "success", actionType: "llm_call", tier: "T2", questId: "Q-1/é" })).toEqual([
      "s73756363657373",
      "a6c6c6d5f63616c6c",
      "t7432",
      "q712d312fc3a9",
    ]);
    expect(facetTokens({ tier: "T2" })).toEqual(["t7432"]);
    expect(facetTokens({})).toEqual([]);
  });

  it.each([
    ["its name", "archive", true],
    ["its type", "tool", true],
    ["what an escape stands before", "second third fourth", true],
    ["its status", "failure", true],
    ["the first word of its error", "refused", true],
    ["its outputs", "zebra", true],
    ["the metadata of its opening", "postern", true],
    ["the metadata of its closing", "drawbridge", true],
    ["what is past 4,000 characters of its inputs", "needle", false],
    ["a word that is nobody's", "portcullis", false],
  ])("finds a closed receipt by %s", (_, query, expected) => {
    const id = ledger.open(
      opening("archive", {
        inputs: { text: `first\nsecond\tthird\rfourth ${"hay ".repeat(1_000)} needle` },
        metadata: { door: "postern" },
      }),
    );
    if (query !== "failure" && query !== "refused" && query !== "zebra" && query !== "drawbridge")
      expect(found({ query })).toEqual(expected ? ["archive"] : []);
    ledger.close(id, {
      status: "failure",
      errorMessage: "refused by the guard",
      outputs: { animal: "zebra" },
      metadata: { door: "drawbridge" },
    });
    expect(found({ query })).toEqual(expected ? ["archive"] : []);
  });

  it("is brought up to date before a search reads it, however much was written since", () => {
    fill(700, "step");
    expect(found({ query: "699" })).toEqual(["step 699"]);
    fill(700, "later");
    expect(found({ query: "later 0" })).toEqual(["later 0"]);
    expect(found({ status: "success", limit: 1 })).toEqual(["later 699"]);
  });

  it("covers a stretch of the ledger with each part, and a search goes through all of them", () => {
    jumpTo(inPart - 6);
    fill(5, "word");
    const middle = time;
    fill(5, "word");
    expect(found({ query: "word 9" })).toEqual([]);
    expect(textParts(storage.db)).toEqual([
      { part: 1, min_at: middle - 1_000, max_at: time },
      { part: 0, min_at: middle - 4_000, max_at: middle - 2_000 },
    ]);
    const all = [4, 3, 2, 1, 0].map((index) => `word ${index}`);
    expect(found({ query: "word" })).toEqual([...all, ...all]);
    expect(found({ status: "success" })).toEqual([...all, ...all]);
    expect(found({ from: new Date(time - 2_000).toISOString() })).toEqual(["word 4", "word 3", "word 2"]);
    expect(found({ to: new Date(middle - 3_000).toISOString() })).toEqual(["word 1", "word 0"]);
    expect(found({ from: new Date(middle - 2_000).toISOString(), to: new Date(middle - 1_000).toISOString() })).toEqual([
      "word 3",
      "word 2",
    ]);
    expect(found({ from: new Date(middle).toISOString(), to: new Date(middle).toISOString(), query: "word" })).toEqual(["word 4"]);
  });

  it.each<[string, Partial<Filter>]>([
    ["words", { query: "word" }],
    ["a filter", { status: "success" }],
    ["a time", { from: "2026-01-01T00:00:00.000Z" }],
    ["nothing", {}],
  ])("gives pages across its parts, by %s", (_, filter) => {
    jumpTo(inPart - 6);
    fill(10, "word");
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = ledger.search({ limit: 4, ...filter, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(page.items.map(({ actionName }) => actionName));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ["word 9", "word 8", "word 7", "word 6"],
      ["word 5", "word 4", "word 3", "word 2"],
      ["word 1", "word 0"],
    ]);
  });

  it.each([
    [inPart - 1, [1, 0]],
    [inPart, [1]],
    [2 * inPart - 1, [1]],
    [2 * inPart, []],
    [undefined, []],
  ])("lets go of the parts that hold nothing but entries before %s", (seq, left) => {
    jumpTo(inPart - 6);
    fill(10, "word");
    expect(found({ query: "word" })).toHaveLength(10);
    dropTextIndex(storage.db, seq);
    expect(textParts(storage.db).map(({ part }) => part)).toEqual(left);
    const tables = storage.db
      .prepare("SELECT name FROM sqlite_schema WHERE name IN ('receipts_fts_0', 'receipts_fts_1') ORDER BY name DESC")
      .pluck()
      .all();
    expect(tables).toEqual(left.map((part) => `receipts_fts_${part}`));
  });

  it("that is far behind is completed in slices before a search of the contract, and such a search can be canceled", async () => {
    fill(1_000, "word");
    found({ query: "word" });
    dropTextIndex(storage.db);
    sql("UPDATE receipts_progress SET indexed_seq = 0");
    const handlers = receiptsHandlers({ ledger: folder.host(() => time).ledger, emit: () => undefined });
    const canceled = new AbortController();
    const stopped = handlers["receipts.search"]({ query: "word", limit: 5 }, { owner: false, signal: canceled.signal });
    canceled.abort();
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    const indexed = storage.db.prepare<[], number>("SELECT indexed_seq FROM receipts_progress").pluck();
    const answered = handlers["receipts.search"]({ query: "word", limit: 5 }, { owner: false, signal: new AbortController().signal });
    const steps: (number | undefined)[] = [];
    while ((steps.at(-1) ?? 0) < 2_000) {
      steps.push(indexed.get());
      await setImmediate();
    }
    expect((await answered).items.map(({ actionName }) => actionName)).toEqual([999, 998, 997, 996, 995].map((index) => `word ${index}`));
    // The start, the end, and places between them; on a busy machine the clock's own slices come between two looks.
    expect(new Set(steps).size).toBeGreaterThan(2);
  });

  it("passes over a receipt whose entries were destroyed before they were indexed", () => {
    const [first, second] = ["first", "second"].map((name) =>
      ledger.record(opening(name), { status: "success", outputs: { name: "zebra" } }),
    );
    ledger.record(opening("third"), { status: "success" });
    expect(ledger.get(first ?? "")?.status).toBe("success");
    dropTriggers(storage);
    sql("UPDATE ledger SET body = 'garbage' WHERE receipt_id = ? AND kind = 'open'", first);
    sql("UPDATE ledger SET body = 'garbage' WHERE receipt_id = ? AND kind = 'close'", second);
    expect(found({ query: "app" })).toEqual(["third", "second"]);
    expect(found({ query: "zebra" })).toEqual([]);
    expect(found({})).toEqual(["third", "second", "unreadable entry"]);
  });

  it("finds nothing, and ends, when the record of how far it is was removed", () => {
    ledger.record(opening("lost"), { status: "success" });
    ledger.flush();
    sql("DELETE FROM receipts_progress");
    expect(found({ query: "lost" })).toEqual([]);
    expect(found({})).toEqual([]);
  });

  it("is made when there is space again, wherever the disk became full", () => {
    ledger.record(opening("kept"), { status: "success", outputs: { text: "word ".repeat(500) } });
    ledger.get("takes it into the derived table");
    // Free pages of the file would be used first.
    storage.db.exec("VACUUM");
    const pages = storage.db.pragma("page_count", { simple: true }) as number;
    const failures: string[] = [];
    for (let more = 0; more < 30; more += 1) {
      storage.db.pragma(`max_page_count = ${pages + more}`);
      try {
        expect(found({ query: "kept" })).toEqual(["kept"]);
      } catch (error) {
        failures.push(error instanceof LancelotError ? error.code : String(error));
      }
    }
    expect(new Set(failures)).toEqual(new Set(["unavailable"]));
    expect(found({ query: "kept" })).toEqual(["kept"]);
  });
});
