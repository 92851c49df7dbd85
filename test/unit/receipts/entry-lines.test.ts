import { describe, expect, it } from "vitest";
import { canonicalJson, genesis, hashEntry } from "../../../agent-server/receipts/entry.ts";
import { checkLine, isEntryLine, readLine, writeLine } from "../../../agent-server/receipts/entry-lines.ts";

const body = (seq: unknown, id: unknown = "r1") => canonicalJson({ id, kind: "open", seq, text: 'a "quoted",\n"hash":"b' });
const lineOf = (text: string, previous = genesis) => ({ body: text, hash: hashEntry(previous, text) });

describe("a line", () => {
  it("holds a body as it stands, and is JSON", () => {
    const entry = lineOf(body(1));
    const line = writeLine(entry);
    expect(readLine(line)).toEqual(entry);
    expect(JSON.parse(line)).toEqual({ entry: JSON.parse(entry.body) as unknown, hash: entry.hash });
    expect(isEntryLine(line)).toBe(true);
  });

  it.each([
    ["nothing", ""],
    ["another line", '{"signature":{}}'],
    ["no hash", '{"entry":{}}'],
    ["a short hash", `{"entry":{},"hash":"${"a".repeat(63)}"}`],
    ["a long hash", `{"entry":{},"hash":"${"a".repeat(65)}"}`],
    ["a hash that is none", `{"entry":{},"hash":"${"g".repeat(64)}"}`],
    ["a cut end", `{"entry":{},"hash":"${"a".repeat(64)}"`],
    ["something after it", `{"entry":{},"hash":"${"a".repeat(64)}"} `],
    ["something before it", ` {"entry":{},"hash":"${"a".repeat(64)}"}`],
    ["another word", `{"entry":{},"hush":"${"a".repeat(64)}"}`],
  ])("is told from %s", (_, line) => {
    expect(readLine(line)).toBeNull();
  });
});

describe("a line in its place", () => {
  it.each<[what: string, line: { body: string; hash: string } | null, expected: unknown]>([
    ["the entry itself", lineOf(body(7)), null],
    ["none", null, { seq: 7, receiptId: null, problem: "changed", message: "Entry 7 here cannot be parsed." }],
    ["a later one", lineOf(body(9)), { seq: 7, receiptId: null, problem: "removed", message: "Entry 7 is missing here." }],
    ["an earlier one", lineOf(body(3)), { seq: 7, receiptId: "r1", problem: "changed", message: "Entry 7 here was modified." }],
    ["another hash", { ...lineOf(body(7)), hash: "0".repeat(64) }, { seq: 7, receiptId: "r1", problem: "changed" }],
    ["another body", { ...lineOf(body(7)), body: body(7, "r2") }, { seq: 7, receiptId: "r2", problem: "changed" }],
    ["a body of another receipt's type", lineOf(body(8, 5), "x"), { seq: 7, receiptId: null, problem: "removed" }],
    ["an id that is no text", { ...lineOf(body(7, 5)), hash: "x" }, { seq: 7, receiptId: null, problem: "changed" }],
    ["a number that is text", lineOf(body("9")), { seq: 7, receiptId: "r1", problem: "changed" }],
    ["a body that is no JSON", lineOf("{"), { seq: 7, receiptId: null, problem: "changed" }],
    ["a body that is no object", lineOf("7"), { seq: 7, receiptId: null, problem: "changed" }],
    ["an entry after another", lineOf(body(7), "1".repeat(64)), { seq: 7, receiptId: "r1", problem: "changed" }],
  ])("is judged: %s", (_, line, expected) => {
    if (expected === null) expect(checkLine(line, 7, genesis, "here")).toBeNull();
    else expect(checkLine(line, 7, genesis, "here")).toMatchObject(expected as object);
  });
});
