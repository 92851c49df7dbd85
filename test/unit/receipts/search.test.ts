import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Receipt, TraceNode } from "../../../agent-server/contract/receipts.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { LedgerFolder, opening } from "../../support/receipts/ledger-folder.ts";

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

const names = (items: readonly Receipt[]) => items.map((receipt) => receipt.actionName);

describe("search", () => {
  beforeEach(() => {
    ledger.record(opening("read_file", { riskTier: "T0", questId: "q1", inputs: { path: "src/Größe/panel.tsx" } }), { status: "success" });
    time += 1_000;
    const edit = ledger.open(opening("edit_file", { questId: "q1" }));
    ledger.close(edit, { status: "failure", errorMessage: "The text to replace was not found." });
    time += 1_000;
    ledger.open(opening("claude", { actionType: "llm_call", riskTier: "T2", questId: "q2" }));
  });

  it.each<[string, Parameters<Ledger["search"]>[0], string[]]>([
    ["everything, newest first", { limit: 10 }, ["claude", "edit_file", "read_file"]],
    ["a quest", { questId: "q1", limit: 10 }, ["edit_file", "read_file"]],
    ["a type", { actionType: "llm_call", limit: 10 }, ["claude"]],
    ["any of several types", { actionTypes: ["llm_call", "file_op"], limit: 10 }, ["claude"]],
    ["types beside a word", { actionTypes: ["tool_call", "user_interaction"], query: "panel", limit: 10 }, ["read_file"]],
    ["types beside a status", { actionTypes: ["tool_call", "user_interaction"], status: "failure", limit: 10 }, ["edit_file"]],
    ["types that nothing has", { actionTypes: ["plan_step", "file_op"], limit: 10 }, []],
    ["a status", { status: "failure", limit: 10 }, ["edit_file"]],
    ["what is pending", { status: "pending", limit: 10 }, ["claude"]],
    ["a tier", { tier: "T0", limit: 10 }, ["read_file"]],
    ["a time on", { from: "2026-01-01T00:00:01Z", limit: 10 }, ["claude", "edit_file"]],
    ["up to a time", { to: "2026-01-01T00:00:01.000Z", limit: 10 }, ["edit_file", "read_file"]],
    ["several at once", { questId: "q1", status: "success", tier: "T0", limit: 10 }, ["read_file"]],
    ["a word of the inputs", { query: "panel", limit: 10 }, ["read_file"]],
    ["the beginning of a word", { query: "pan", limit: 10 }, ["read_file"]],
    ["a path", { query: "src/app.ts", limit: 10 }, ["claude", "edit_file"]],
    ["the error", { query: "replace found", limit: 10 }, ["edit_file"]],
    ["words of the opening and the closing together", { query: "edit_file replace", limit: 10 }, ["edit_file"]],
    ["letters with marks, in any case", { query: "GRÖßE", limit: 10 }, ["read_file"]],
    ["a word that is nowhere", { query: "sandbox", limit: 10 }, []],
    ["what would be operators of the index", { query: '"panel" OR (NOT', limit: 10 }, []],
    ["quotes", { query: '"panel', limit: 10 }, ["read_file"]],
    ["signs only, which say nothing", { query: "-- * ^", limit: 10 }, ["claude", "edit_file", "read_file"]],
  ])("finds %s", (_, filter, expected) => {
    expect(names(ledger.search(filter).items)).toEqual(expected);
  });

  it.each<Parameters<Ledger["search"]>[0]>([
    { limit: 10 },
    { questId: "q1", limit: 10 },
    { query: "panel", limit: 10 },
    { query: "pan", tier: "T0", limit: 10 },
    { status: "failure", limit: 10 },
    { status: "pending", limit: 10 },
    { actionType: "llm_call", limit: 10 },
    { actionTypes: ["llm_call", "tool_call"], limit: 10 },
    { from: "2026-01-01T00:00:01Z", limit: 10 },
    { query: "receipt-of-that-id", limit: 10 },
  ])("reads no whole table for %j, so the first search of many receipts is quick on a cold disk", (filter) => {
    ledger.search(filter);
    const prepare = vi.spyOn(storage.db, "prepare");
    ledger.search(filter);
    const statements = prepare.mock.calls.map(([text]) => text).filter((text) => /^SELECT[^]*\breceipts r\b/.test(text.trim()));
    prepare.mockRestore();
    expect(statements).not.toEqual([]);
    for (const text of statements) {
      const values = Array.from({ length: text.split("?").length - 1 }, () => 1);
      const plan = storage.db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      // The index of pending receipts holds those alone.
      const scans = plan.filter(({ detail }) => /^SCAN (?!\w+ (?:VIRTUAL TABLE|USING INDEX receipts_open))/.test(detail));
      expect(scans).toEqual([]);
    }
  });

  it("finds a receipt by its id", () => {
    const id = ledger.open(opening("by id"));
    expect(names(ledger.search({ query: id, limit: 10 }).items)).toEqual(["by id"]);
  });

  it("finds what was written after the last search", () => {
    expect(ledger.search({ query: "later", limit: 10 }).items).toEqual([]);
    const id = ledger.open(opening("later"));
    expect(ledger.search({ query: "later", limit: 10 }).items[0]?.status).toBe("pending");
    ledger.close(id, { status: "success", outputs: { result: "zebra" } });
    expect(ledger.search({ query: "later zebra", limit: 10 }).items[0]?.status).toBe("success");
  });

  it("finds what another host wrote", () => {
    folder.host().ledger.open(opening("elsewhere"));
    expect(names(ledger.search({ query: "elsewhere", limit: 10 }).items)).toEqual(["elsewhere"]);
  });

  it("gives pages that hold each receipt once, whatever is added meanwhile", () => {
    for (let index = 0; index < 7; index += 1) ledger.open(opening(`page ${index}`, { questId: "paged" }));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = ledger.search({ questId: "paged", limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...names(page.items));
      cursor = page.nextCursor;
      ledger.open(opening("added", { questId: "paged" }));
    } while (cursor !== undefined);
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((index) => `page ${index}`));
  });

  it("refuses a position it did not give out", () => {
    expect(() => ledger.search({ limit: 1, cursor: "1; DROP TABLE ledger" })).toThrow(/cursor/);
  });
});

describe("trace", () => {
  const shape = (nodes: readonly TraceNode[]): unknown[] =>
    nodes.map(({ receipt, children }) => (children.length === 0 ? receipt.actionName : [receipt.actionName, ...shape(children)]));

  it("shows the whole tree from any receipt of it, oldest first", () => {
    const task = ledger.open(opening("task"));
    const plan = ledger.open(opening("plan", { parentId: task }));
    const read = ledger.open(opening("read", { parentId: plan }));
    ledger.open(opening("edit", { parentId: task }));
    ledger.open(opening("other"));
    for (const id of [task, plan, read]) expect(shape(ledger.trace({ id }))).toEqual([["task", ["plan", "read"], "edit"]]);
  });

  it("shows a quest as its trees", () => {
    const first = ledger.open(opening("first", { questId: "q" }));
    ledger.record(opening("child", { questId: "q", parentId: first }), { status: "success" });
    ledger.open(opening("second", { questId: "q" }));
    ledger.open(opening("another quest's", { questId: "r" }));
    expect(shape(ledger.trace({ questId: "q" }))).toEqual([["first", "child"], "second"]);
  });

  it("puts a child under a parent that was written after it", () => {
    const parent = ledger.record(opening("parent", { questId: "q" }), { status: "success" });
    folder.host().ledger.open(opening("child", { questId: "q", parentId: parent }));
    expect(shape(ledger.trace({ questId: "q" }))).toEqual([["parent", "child"]]);
  });

  it("takes a parent that is not in the ledger for none", () => {
    const id = ledger.open(opening("alone", { parentId: "gone" }));
    expect(shape(ledger.trace({ id }))).toEqual(["alone"]);
    expect(ledger.trace({ id: "gone" })).toEqual([]);
    expect(ledger.trace({ questId: "gone" })).toEqual([]);
  });

  it("ends for a chain of any length, and holds all of it", () => {
    let parentId: string | null = null;
    const ids: string[] = [];
    for (let index = 0; index < 1_000; index += 1) {
      parentId = ledger.record(opening(`${index}`, { parentId }), { status: "success" });
      ids.push(parentId);
    }
    const count = (nodes: readonly TraceNode[]): number => nodes.reduce((sum, node) => sum + 1 + count(node.children), 0);
    expect(count(ledger.trace({ id: ids[999] ?? "" }))).toBe(1_000);
  });
});
