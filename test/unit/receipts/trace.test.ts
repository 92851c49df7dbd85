import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TraceNode } from "../../../agent-server/contract/receipts.ts";
import { createAppend } from "../../../agent-server/receipts/append.ts";
import { newReceiptId, type OpenEntry } from "../../../agent-server/receipts/entry.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, LedgerFolder, opening } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;

beforeEach(() => {
  folder = new LedgerFolder();
  ({ ledger, storage } = folder.host());
});
afterEach(() => folder.remove());

const shape = (nodes: readonly TraceNode[]): unknown[] =>
  nodes.map(({ receipt, children }) => (children.length === 0 ? receipt.actionName : [receipt.actionName, ...shape(children)]));
const names = (nodes: readonly TraceNode[]): string[] => nodes.flatMap(({ receipt, children }) => [receipt.actionName, ...names(children)]);

/** Openings of the names 0, 1, 2, …; each below the one that `parentOf` tells. Returns their ids. */
function write(count: number, parentOf: (index: number) => number | null): string[] {
  const ids = Array.from({ length: count }, (_, index) => newReceiptId(1_800_000_000_000 + index));
  const entries = ids.map((id, index): OpenEntry => {
    const parent = parentOf(index);
    return {
      actionName: String(index),
      actionType: "tool_call",
      at: 1_800_000_000_000,
      cognitionTier: "DETERMINISTIC",
      host: storage.hostId,
      id,
      inputs: {},
      kind: "open",
      metadata: {},
      parentId: parent === null ? null : (ids[parent] ?? null),
      questId: "q",
      riskTier: "T0",
      seq: 0,
      v: 1,
    };
  });
  storage.transaction(() => createAppend(storage.db)(entries));
  return ids;
}

describe("a trace", () => {
  it("of a long chain ends at the receipt that was asked for, and begins 4,999 above it", () => {
    const ids = write(5_010, (index) => (index === 0 ? null : index - 1));
    const found = names(ledger.trace({ id: ids[5_004] ?? "" }));
    expect(found).toHaveLength(5_000);
    expect([found[0], found.at(-1)]).toEqual(["5", "5004"]);
  });

  it("of a receipt with many below it holds the first 5,000", () => {
    const ids = write(5_100, (index) => (index === 0 ? null : 0));
    const found = names(ledger.trace({ id: ids[7] ?? "" }));
    expect(found).toHaveLength(5_000);
    expect(found.at(-1)).toBe("4999");
    expect(names(ledger.trace({ questId: "q" }))).toEqual(found);
  });

  it("shows a hundred levels below the first, and what is deeper at the last of them", () => {
    const ids = write(150, (index) => (index === 0 ? null : index - 1));
    const levels: string[][] = [];
    for (let nodes = ledger.trace({ id: ids[149] ?? "" }); nodes.length > 0; nodes = nodes.flatMap(({ children }) => children))
      levels.push(nodes.map(({ receipt }) => receipt.actionName));
    expect(levels).toHaveLength(101);
    expect(levels.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => [String(index)]));
    expect(levels[100]).toEqual(Array.from({ length: 50 }, (_, index) => String(100 + index)));
  });

  it("shows receipts that someone made each other's parents once, below the oldest", () => {
    const ids = write(4, (index) => [null, 0, 1, 1][index] ?? null);
    dropTriggers(storage);
    storage.db.prepare("UPDATE ledger SET body = replace(body, '\"parentId\":null', ?)").run(`"parentId":"${ids[1] ?? ""}"`);
    expect(shape(ledger.trace({ questId: "q" }))).toEqual([["0", ["1", "2", "3"]]]);
    for (const id of ids) expect(shape(ledger.trace({ id }))).toEqual([["0", ["1", "2", "3"]]]);
  });

  it("of a quest hangs a receipt below one that was written later, which itself hangs below another quest's", () => {
    const elsewhere = ledger.open(opening("elsewhere", { questId: "other" }));
    const parent = ledger.record(opening("parent", { questId: "q", parentId: elsewhere }), { status: "success" });
    const other = folder.host().ledger;
    other.open(opening("child", { questId: "q", parentId: parent }));
    other.open(opening("second child", { questId: "q", parentId: parent }));
    expect(shape(ledger.trace({ questId: "q" }))).toEqual([["parent", "child", "second child"]]);
    expect(shape(ledger.trace({ id: parent }))).toEqual([["elsewhere", ["parent", "child", "second child"]]]);
  });
});
