import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { canonicalJson, type EntryRow, hashEntry } from "../../../agent-server/receipts/entry.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, insertRow, LedgerFolder, opening, removeAndCloseUp, rows, swapRows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let storage: Storage;
let ledger: Ledger;

beforeEach(() => {
  folder = new LedgerFolder();
  ({ storage, ledger } = folder.host());
});
afterEach(() => folder.remove());

function fill(receipts: number): void {
  for (let index = 0; index < receipts; index += 1) ledger.record(opening(`action ${index}`), { status: "success", outputs: { index } });
  ledger.flush();
}

const rowAt = (seq: number): EntryRow => {
  const row = rows(storage)[seq - 1];
  if (row === undefined) throw new Error(`No row ${seq}.`);
  return row;
};
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);

/** An entry with a hash of its own that fits after `before`, as a careful forger would write it. */
function forged(seq: number, before: string): EntryRow {
  const body = canonicalJson({ ...(JSON.parse(rowAt(1).body) as object), seq, id: "forged", actionName: "never happened" });
  return { seq, receipt_id: "forged", kind: "open", body, hash: hashEntry(before, body), prev_hash: before };
}

type Bad = Pick<NonNullable<Verification["firstBad"]>, "seq" | "problem">;

// Ten receipts: entries 1 to 20.
const cases: [what: string, tamper: () => void, expected: Bad][] = [
  [
    "a byte of a body",
    () => sql("UPDATE ledger SET body = replace(body, 'action 3', 'action 4') WHERE seq = 7"),
    { seq: 7, problem: "changed" },
  ],
  ["a body that is no JSON any more", () => sql("UPDATE ledger SET body = substr(body, 2) WHERE seq = 7"), { seq: 7, problem: "changed" }],
  ["white space in a body", () => sql("UPDATE ledger SET body = body || ' ' WHERE seq = 7"), { seq: 7, problem: "changed" }],
  [
    "a hash",
    () => sql("UPDATE ledger SET hash = replace(hash, substr(hash, 1, 8), '00000000') WHERE seq = 7"),
    { seq: 7, problem: "changed" },
  ],
  ["the hash before", () => sql("UPDATE ledger SET prev_hash = hash WHERE seq = 7"), { seq: 7, problem: "changed" }],
  ["the receipt of an entry", () => sql("UPDATE ledger SET receipt_id = 'another' WHERE seq = 7"), { seq: 7, problem: "changed" }],
  ["the kind of an entry", () => sql("UPDATE ledger SET kind = 'close' WHERE seq = 7"), { seq: 7, problem: "changed" }],
  ["the first entry", () => sql("UPDATE ledger SET body = '{}' WHERE seq = 1"), { seq: 1, problem: "changed" }],
  ["the last entry", () => sql("UPDATE ledger SET body = '{}' WHERE seq = 20"), { seq: 20, problem: "changed" }],
  [
    "a body together with its hash",
    () => {
      const body = rowAt(7).body.replace("action 3", "action 4");
      sql("UPDATE ledger SET body = ?, hash = ? WHERE seq = 7", body, hashEntry(rowAt(7).prev_hash, body));
    },
    { seq: 7, problem: "changed" },
  ],
  [
    "the last body together with its hash",
    () => {
      const body = rowAt(20).body.replace("success", "failure");
      sql("UPDATE ledger SET body = ?, hash = ? WHERE seq = 20", body, hashEntry(rowAt(20).prev_hash, body));
    },
    { seq: 20, problem: "changed" },
  ],
  ["an entry that is gone", () => sql("DELETE FROM ledger WHERE seq = 7"), { seq: 7, problem: "removed" }],
  ["the first entry gone", () => sql("DELETE FROM ledger WHERE seq = 1"), { seq: 1, problem: "removed" }],
  ["the last entry gone", () => sql("DELETE FROM ledger WHERE seq = 20"), { seq: 20, problem: "removed" }],
  ["the tail cut off", () => sql("DELETE FROM ledger WHERE seq > 12"), { seq: 13, problem: "removed" }],
  ["everything gone", () => sql("DELETE FROM ledger"), { seq: 1, problem: "removed" }],
  ["several gone", () => sql("DELETE FROM ledger WHERE seq IN (9, 10, 15)"), { seq: 9, problem: "removed" }],
  ["an entry gone and the gap closed", () => removeAndCloseUp(storage, 7), { seq: 7, problem: "removed" }],
  ["the first entry gone and the gap closed", () => removeAndCloseUp(storage, 1), { seq: 1, problem: "removed" }],
  ["a forged entry put in", () => insertRow(storage, forged(7, rowAt(6).hash)), { seq: 7, problem: "inserted" }],
  ["a forged entry put in front", () => insertRow(storage, forged(1, "0".repeat(64))), { seq: 1, problem: "inserted" }],
  ["nonsense put in", () => insertRow(storage, { ...forged(7, "x"), body: "{}" }), { seq: 7, problem: "inserted" }],
  ["a copy of an entry put in", () => insertRow(storage, { ...rowAt(12), seq: 7 }), { seq: 7, problem: "inserted" }],
  ["a copy of the next entry put in", () => insertRow(storage, { ...rowAt(8), seq: 7 }), { seq: 7, problem: "inserted" }],
  ["a forged entry put at the end", () => insertRow(storage, forged(21, rowAt(20).hash)), { seq: 21, problem: "inserted" }],
  ["a forged entry put before the last", () => insertRow(storage, forged(20, rowAt(19).hash)), { seq: 20, problem: "inserted" }],
  ["an entry before the first", () => insertRow(storage, { ...forged(0, "x"), seq: -4 }), { seq: -4, problem: "inserted" }],
  ["two entries swapped", () => swapRows(storage, 7, 13), { seq: 7, problem: "reordered" }],
  ["two neighbours swapped", () => swapRows(storage, 7, 8), { seq: 7, problem: "reordered" }],
  ["the last two swapped", () => swapRows(storage, 19, 20), { seq: 19, problem: "reordered" }],
  ["the first two swapped", () => swapRows(storage, 1, 2), { seq: 1, problem: "reordered" }],
  [
    "the bodies of two entries swapped",
    () => {
      const [a, b] = [rowAt(7), rowAt(13)];
      const set = "UPDATE ledger SET body = ?, receipt_id = ?, kind = ? WHERE seq = ?";
      sql(set, b.body, b.receipt_id, b.kind, 7);
      sql(set, a.body, a.receipt_id, a.kind, 13);
    },
    { seq: 7, problem: "reordered" },
  ],
  [
    "an entry moved away",
    () => {
      sql("UPDATE ledger SET seq = 21 WHERE seq = 7");
    },
    { seq: 7, problem: "reordered" },
  ],
  ["the recorded head", () => sql("UPDATE ledger_head SET hash = 'x'"), { seq: 20, problem: "changed" }],
  ["the recorded head turned back", () => sql("UPDATE ledger_head SET seq = 12"), { seq: 13, problem: "inserted" }],
  ["the recorded head gone", () => sql("DELETE FROM ledger_head"), { seq: 20, problem: "changed" }],
];

/** What the owner reads of each, after `Entry <seq> `. */
const expectedText: Record<string, string> = {
  "a byte of a body": "was modified.",
  "a body that is no JSON any more": "was modified.",
  "white space in a body": "was modified.",
  "a hash": "was modified.",
  "the hash before": "was modified.",
  "the receipt of an entry": "was modified.",
  "the kind of an entry": "was modified.",
  "the first entry": "was modified.",
  "the last entry": "was modified.",
  "a body together with its hash": "does not match the hash that the next entry links to.",
  "the last body together with its hash": "does not match the recorded head.",
  "an entry that is gone": "is missing.",
  "the first entry gone": "is missing.",
  "the last entry gone": "is missing: the ledger had 20 entries and is truncated.",
  "the tail cut off": "is missing: the ledger had 20 entries and is truncated.",
  "everything gone": "is missing: the ledger had 20 entries and is truncated.",
  "several gone": "is missing.",
  "an entry gone and the gap closed": "is missing: later entries were renumbered to close the gap.",
  "the first entry gone and the gap closed": "is missing: later entries were renumbered to close the gap.",
  "a forged entry put in": "was not written by Lancelot: the next entry links to the previous one.",
  "a forged entry put in front": "was not written by Lancelot: the next entry links to the previous one.",
  "nonsense put in": "was not written by Lancelot: the original entry follows it.",
  "a copy of an entry put in": "was not written by Lancelot: the original entry follows it.",
  "a copy of the next entry put in": "was not written by Lancelot: the original entry follows it.",
  "a forged entry put at the end": "was added after the ledger's recorded end.",
  "a forged entry put before the last": "was not written by Lancelot: the next entry links to the previous one.",
  "an entry before the first": "precedes the first entry of the ledger.",
  "two entries swapped": "is not the original, which was moved to position 13.",
  "two neighbours swapped": "is not the original, which was moved to position 8.",
  "the last two swapped": "is not the original, which was moved to position 20.",
  "the first two swapped": "is not the original, which was moved to position 2.",
  "the bodies of two entries swapped": "contains the original of entry 13.",
  "an entry moved away": "was moved to position 21.",
  "the recorded head": "does not match the recorded head.",
  "the recorded head turned back": "was added after the ledger's recorded end.",
  "the recorded head gone": "cannot be verified: the record of the ledger's head was deleted.",
};

describe("verification", () => {
  it("of an empty ledger is fine", async () => {
    expect(await ledger.verify()).toEqual({ ok: true, entries: 0, head: null, signed: null, segments: { count: 0, entries: 0 } });
  });

  it("of a whole ledger counts its entries and names its head", async () => {
    fill(10);
    expect(await ledger.verify()).toMatchObject({ ok: true, entries: 20, head: rowAt(20).hash, signed: null });
  });

  it.each(cases)("finds %s", async (what, tamper, expected) => {
    fill(10);
    dropTriggers(storage);
    tamper();
    const verification = await ledger.verify();
    expect(verification.firstBad).toMatchObject(expected);
    expect(verification.ok).toBe(false);
    expect(verification.firstBad?.message).toBe(`Entry ${expected.seq} ${expectedText[what]}`);
    expect(verification).toMatchObject({ head: verification.entries === 0 ? null : (expect.stringMatching(/^[0-9a-f]{64}$/) as string) });
  });

  it("does not take what is appended meanwhile for damage", async () => {
    fill(2_000);
    const running = ledger.verify();
    const other = folder.host();
    other.ledger.close(other.ledger.open(opening("meanwhile")), { status: "success" });
    expect((await running).ok).toBe(true);
    expect((await ledger.verify()).entries).toBe(4_002);
  });

  it("says how far it is after every 10,000 entries, and at the end", async () => {
    fill(5_100);
    const reported: [number, number][] = [];
    await ledger.verify(undefined, (done, total) => reported.push([done, total]));
    expect(reported).toEqual([
      [10_000, 10_200],
      [10_200, 10_200],
    ]);
  });

  it("says its end once", async () => {
    fill(5_000);
    const reported: [number, number][] = [];
    await ledger.verify(undefined, (done, total) => reported.push([done, total]));
    expect(reported).toEqual([[10_000, 10_000]]);
  });

  it.each([
    ["a byte", () => sql("UPDATE ledger SET body = replace(body, 'action 3', 'action 4') WHERE seq = 7"), 7, true],
    ["an entry that is gone", () => sql("DELETE FROM ledger WHERE seq = 7"), 7, false],
    ["an entry moved away", () => sql("UPDATE ledger SET seq = 21 WHERE seq = 7"), 7, true],
    ["an entry gone and the gap closed", () => removeAndCloseUp(storage, 7), 7, false],
    ["the recorded head", () => sql("UPDATE ledger_head SET hash = 'x'"), 20, true],
    ["one written past the head", () => insertRow(storage, forged(21, rowAt(20).hash)), 21, true],
  ])("names the receipt where there is one: %s", async (_, tamper, seq, named) => {
    fill(10);
    const ids = new Map(rows(storage).map((row) => [row.seq, row.receipt_id]));
    dropTriggers(storage);
    tamper();
    const { firstBad, entries } = await ledger.verify();
    expect(firstBad).toMatchObject({ seq, receiptId: named ? (ids.get(seq) ?? "forged") : null });
    expect(entries).toBe(seq > 20 || seq === 20 ? 20 : seq - 1);
  });

  it("stops on request", async () => {
    fill(2_000);
    const stop = new AbortController();
    const running = ledger.verify(stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
  });

  it("gives way to other work of the host", async () => {
    fill(2_000);
    let turns = 0;
    let running = true;
    const count = () => {
      turns += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    await ledger.verify();
    running = false;
    expect(turns).toBeGreaterThanOrEqual(4_000 / 500);
  });
});

type Step = { host: 0 | 1; kind: "open" | "close" | "record" | "flush" | "undone"; text: string };
const step: fc.Arbitrary<Step> = fc.record({
  host: fc.constantFrom(0 as const, 1 as const),
  kind: fc.constantFrom("open", "close", "record", "flush", "undone"),
  text: fc.string({ unit: "binary", maxLength: 40 }),
});

/** Runs steps on two hosts of one folder, and returns what each receipt must be in the end. */
function play(steps: readonly Step[], hosts: readonly { ledger: Ledger; storage: Storage }[]): Map<string, string> {
  const expected = new Map<string, string>();
  const open: string[] = [];
  for (const { host, kind, text } of steps) {
    const at = hosts[host];
    if (at === undefined) continue;
    if (kind === "open") {
      const id = at.ledger.open(opening(text, { inputs: { [text]: text } }));
      expected.set(id, "pending");
      open.push(id);
    } else if (kind === "close") {
      const id = open.pop();
      if (id === undefined) continue;
      at.ledger.close(id, { status: "failure", errorMessage: text });
      expected.set(id, "failure");
    } else if (kind === "record") {
      expected.set(at.ledger.record(opening(text), { status: "success", outputs: { text } }), "success");
    } else if (kind === "flush") {
      at.ledger.flush();
    } else {
      expect(() =>
        at.storage.transaction(() => {
          at.ledger.open(opening(text));
          throw new Error("undone");
        }),
      ).toThrow("undone");
    }
  }
  for (const { ledger } of hosts) ledger.flush();
  return expected;
}

describe("any course of events", () => {
  it("on two hosts leaves a ledger that verifies and reports it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const folder = new LedgerFolder();
        try {
          const hosts = [folder.host(), folder.host()];
          const expected = play(steps, hosts);
          const closed = [...expected.values()].filter((status) => status !== "pending").length;
          expect(await hosts[0]?.ledger.verify()).toMatchObject({ ok: true, entries: expected.size + closed });
          const found = hosts[1]?.ledger.search({ limit: 500 }).items ?? [];
          expect(new Map(found.map((receipt) => [receipt.id, receipt.status]))).toEqual(new Map(expected));
        } finally {
          folder.remove();
        }
      }),
      { numRuns: 40 },
    );
  });

  it("and any one change to any one entry is found", async () => {
    fill(15);
    const other = folder.host().ledger;
    other.close(other.open(opening("from another host")), { status: "cancelled" });
    dropTriggers(storage);
    const original = rows(storage);
    const change = fc.record({
      seq: fc.integer({ min: 1, max: original.length }),
      column: fc.constantFrom("body" as const, "hash" as const, "prev_hash" as const, "receipt_id" as const),
      at: fc.nat(),
      bit: fc.integer({ min: 0, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ seq, column, at, bit }) => {
        const value = original[seq - 1]?.[column] ?? "";
        const index = at % value.length;
        const flipped = String.fromCharCode(value.charCodeAt(index) ^ (1 << bit));
        sql(`UPDATE ledger SET ${column} = ? WHERE seq = ?`, value.slice(0, index) + flipped + value.slice(index + 1), seq);
        const verification = await ledger.verify();
        sql(`UPDATE ledger SET ${column} = ? WHERE seq = ?`, value, seq);
        expect(verification.firstBad).toMatchObject({ seq });
        expect((await ledger.verify()).ok).toBe(true);
      }),
      { numRuns: 250 },
    );
  });
});
