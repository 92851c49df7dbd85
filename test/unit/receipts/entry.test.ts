import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, type CloseEntry, newReceiptId, type OpenEntry, toRow } from "../../../agent-server/receipts/entry.ts";
import { runs } from "../../support/soak.ts";

describe("canonical JSON", () => {
  it.each([
    [
      "sorts keys by their code units",
      { b: 1, a: { d: 1, c: 2 }, é: 3, z: 4, "😀": 5, "\uffff": 6 },
      '{"a":{"c":2,"d":1},"b":1,"z":4,"é":3,"😀":5,"\uffff":6}',
    ],
    ["sorts keys like numbers as text", { "10": 1, "9": 2, a: { "2": 1, "11": 2 } }, '{"10":1,"9":2,"a":{"11":2,"2":1}}'],
    ["writes numbers the shortest way", [1e21, 1e-7, -0, 0.1, 1 / 3], "[1e+21,1e-7,0,0.1,0.3333333333333333]"],
    [
      "sorts keys like numbers among others, as text",
      [
        { " ": 1, "0": 2 },
        { "!": 1, "9": 2 },
      ],
      '[{" ":1,"0":2},{"!":1,"9":2}]',
    ],
    [
      "sorts the keys of objects in lists",
      [1, { b: 1, a: [{ d: 1, c: 2 }] }, { a: 1, b: 2 }],
      '[1,{"a":[{"c":2,"d":1}],"b":1},{"a":1,"b":2}]',
    ],
    ["keeps a key called __proto__", JSON.parse('{"z":1,"__proto__":{"b":1,"a":2}}'), '{"__proto__":{"a":2,"b":1},"z":1}'],
    ["takes what is no JSON for nothing", undefined, "null"],
    ["escapes only what must be", { text: '"\\\n\u0007/€' }, '{"text":"\\"\\\\\\n\\u0007/€"}'],
  ])("%s", (_, value, expected) => {
    expect(canonicalJson(value)).toBe(expected);
  });

  it("is that of RFC 8785 for any JSON", () => {
    const key = fc.oneof(fc.string({ unit: "binary" }), fc.integer().map(String), fc.constantFrom("__proto__", "constructor", "toJSON"));
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { depthSize: "medium" },
        fc.string({ unit: "binary" }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("json")),
        fc.dictionary(key, tie("json")),
      ),
    }));
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
      { numRuns: runs(500, 2_000) },
    );
  });
});

describe("a row of the ledger", () => {
  const fields = fc.dictionary(
    fc.oneof(fc.constantFrom("b", "a", "10", "9", " ", "__proto__"), fc.string()),
    fc.oneof(fc.integer(), fc.constant([{ b: 1, a: { d: [2], c: null } }, "x"]), fc.constant({ z: 1, y: {} })),
    { noNullPrototype: true },
  );
  /** Keys in the order of canonical JSON, as the ledger makes them. */
  const open = (inputs: Record<string, unknown>, metadata: Record<string, unknown>): OpenEntry => ({
    actionName: "read_file",
    actionType: "tool_call",
    at: 1,
    cognitionTier: "DETERMINISTIC",
    host: "h",
    id: "r",
    inputs,
    kind: "open",
    metadata,
    parentId: null,
    questId: null,
    riskTier: "T0",
    seq: 0,
    v: 1,
  });
  const close = (outputs: Record<string, unknown>, metadata: Record<string, unknown>): CloseEntry => ({
    at: 2,
    durationMs: 1,
    errorMessage: null,
    id: "r",
    kind: "close",
    metadata,
    outputs,
    seq: 0,
    status: "success",
    tokenCount: 3,
    v: 1,
  });

  it("holds the canonical JSON of the entry with its number, and follows the hash before it", () => {
    fc.assert(
      fc.property(fields, fields, (some, metadata) => {
        for (const entry of [open(some, metadata), close(some, metadata)]) {
          const body = canonicalize({ ...entry, seq: 7 }) ?? "";
          expect(toRow(entry, 7, "before")).toEqual({
            seq: 7,
            receipt_id: "r",
            kind: entry.kind,
            body,
            hash: createHash("sha256").update(`before${body}`).digest("hex"),
            prev_hash: "before",
          });
        }
      }),
    );
  });
});

describe("receipt ids", () => {
  it("are UUIDs of version 7 that sort by time and do not repeat", () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => newReceiptId(1_795_000_000_000 + index));
    expect(new Set(ids).size).toBe(1_000);
    expect([...ids].sort()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
