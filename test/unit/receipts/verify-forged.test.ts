import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { createAppend } from "../../../agent-server/receipts/append.ts";
import { canonicalJson, type EntryRow, genesis, hashEntry, newReceiptId, type OpenEntry } from "../../../agent-server/receipts/entry.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import {
  dropTriggers,
  insertRow,
  keyStore,
  LedgerFolder,
  opening,
  rewriteFrom,
  rows,
  swapRows,
} from "../../support/receipts/ledger-folder.ts";

const day = 86_400_000;
let folder: LedgerFolder;
let storage: Storage;
let ledger: Ledger;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 0, 1);
  ({ storage, ledger } = folder.host(() => time, { secrets: keyStore() }));
});
afterEach(() => folder.remove());

function fill(receipts: number): void {
  for (let index = 0; index < receipts; index += 1) {
    time += 1_000;
    ledger.record(opening(`action ${index}`), { status: "success", outputs: { index } });
  }
  ledger.flush();
}
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);
const rowAt = (seq: number): EntryRow => {
  const row = rows(storage).find((one) => one.seq === seq);
  if (row === undefined) throw new Error(`No row ${seq}.`);
  return row;
};
/** An entry with a hash of its own that continues from `before`; `change` is laid over its body. */
function forged(seq: number, before: string, change: object = {}): EntryRow {
  const body = canonicalJson({ ...(JSON.parse(rowAt(1).body) as object), seq, id: "forged", ...change });
  return { seq, receipt_id: "forged", kind: "open", body, hash: hashEntry(before, body), prev_hash: before };
}
function replace(row: EntryRow): void {
  sql("DELETE FROM ledger WHERE seq = ?", row.seq);
  sql("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", row.seq, row.receipt_id, row.kind, row.body, row.hash, row.prev_hash);
}
const setBody = (seq: number, body: string) => sql("UPDATE ledger SET body = ? WHERE seq = ?", body, seq);

type Problem = NonNullable<Verification["firstBad"]>["problem"];

// Ten receipts: entries 1 to 20.
const cases: [what: string, tamper: () => void, seq: number, problem: Problem, expectedText: string][] = [
  [
    "a body that is no JSON, with its hash",
    () => sql("UPDATE ledger SET body = 'nonsense', hash = ? WHERE seq = 7", hashEntry(rowAt(7).prev_hash, "nonsense")),
    ...([7, "changed", "was modified."] as const),
  ],
  ["a body that is other JSON", () => setBody(7, "null"), 7, "changed", "was modified."],
  ["an entry without a number", () => replace(forged(7, rowAt(6).hash, { seq: undefined })), 7, "changed", "was modified."],
  ["the body of the entry before", () => setBody(7, rowAt(6).body), 7, "changed", "was modified."],
  [
    "a body that says it is one that is destroyed",
    () => {
      setBody(7, rowAt(7).body.replace('"seq":7,', '"seq":13,'));
      setBody(13, "garbage");
    },
    ...([7, "changed", "was modified."] as const),
  ],
  [
    "a body that says it is one that never was",
    () => setBody(7, rowAt(7).body.replace('"seq":7,', '"seq":99,')),
    ...([7, "changed", "was modified."] as const),
  ],
  ["the first entry, continuing from something else", () => replace(forged(1, "f".repeat(64))), 1, "changed", "was modified."],
  [
    "an entry that continues from further up",
    () => replace(forged(7, rowAt(5).hash)),
    ...([6, "changed", "does not match the hash that the next entry links to."] as const),
  ],
  [
    "a byte, with a forged entry that continues from before it at the end",
    () => {
      insertRow(storage, forged(21, rowAt(6).hash));
      setBody(7, rowAt(7).body.replace("action 3", "action 4"));
    },
    ...([7, "changed", "was modified."] as const),
  ],
  [
    "another number in an entry, with fresh hashes from there on",
    () => rewriteFrom(storage, 7, (body) => body.replace('"seq":7,', '"seq":99,')),
    ...([7, "removed", "is missing: later entries were renumbered to close the gap."] as const),
  ],
  [
    "two entries swapped and one of them changed",
    () => {
      swapRows(storage, 7, 13);
      sql("UPDATE ledger SET hash = 'x' WHERE seq = 13");
    },
    ...([7, "removed", "is missing: later entries were renumbered to close the gap."] as const),
  ],
  [
    "two pairs of entries swapped",
    () => {
      swapRows(storage, 7, 13);
      swapRows(storage, 8, 14);
    },
    ...([7, "reordered", "is not the original, which was moved to position 13."] as const),
  ],
  [
    "a forged entry of the number before",
    () => insertRow(storage, { ...forged(6, "x"), seq: 7 }),
    ...([7, "inserted", "was not written by Lancelot: the original entry follows it."] as const),
  ],
  [
    "nonsense put in front of an entry that was changed",
    () => {
      insertRow(storage, { ...forged(7, "x"), body: "{}" });
      setBody(8, rowAt(8).body.replace("action 3", "action 4"));
    },
    ...([7, "inserted", "was not written by Lancelot: the next entry links to the previous one."] as const),
  ],
  [
    "nonsense put in front of the last",
    () => insertRow(storage, { ...forged(20, "x"), body: "{}" }),
    ...([20, "inserted", "was not written by Lancelot: the original entry follows it."] as const),
  ],
  [
    "nonsense put in front of the last, and the head's hash changed",
    () => {
      insertRow(storage, { ...forged(20, "x"), body: "{}" });
      sql("UPDATE ledger_head SET hash = 'x'");
    },
    ...([20, "inserted", "was not written by Lancelot: the original entry follows it."] as const),
  ],
  [
    "nonsense put in front of the last, and the head moved on",
    () => {
      insertRow(storage, { ...forged(20, "x"), body: "{}" });
      sql("UPDATE ledger_head SET seq = 21");
    },
    ...([20, "inserted", "was not written by Lancelot: the original entry follows it."] as const),
  ],
  [
    "the last entry put at the end once more",
    () => insertRow(storage, { ...rowAt(20), seq: 21 }),
    ...([21, "inserted", "was added after the ledger's recorded end."] as const),
  ],
];

describe("verification of a forged ledger", () => {
  it.each(cases)("finds %s", async (_, tamper, seq, problem, expectedText) => {
    fill(10);
    dropTriggers(storage);
    tamper();
    const { ok, firstBad } = await ledger.verify();
    expect(ok).toBe(false);
    expect(firstBad).toMatchObject({ seq, problem, message: `Entry ${seq} ${expectedText}` });
  });
});

describe("verification of a long ledger", () => {
  it("reports after each 10,000 entries how far it is, whom it has to tell", async () => {
    const id = newReceiptId(time);
    const entry: OpenEntry = {
      actionName: "a",
      actionType: "system",
      at: time,
      cognitionTier: "DETERMINISTIC",
      host: "h",
      id,
      inputs: {},
      kind: "open",
      metadata: {},
      parentId: null,
      questId: null,
      riskTier: "T0",
      seq: 0,
      v: 1,
    };
    storage.transaction(() => createAppend(storage.db)(Array.from({ length: 20_700 }, () => entry)));
    const reported: unknown[] = [];
    expect(await ledger.verify(undefined, (...far) => reported.push(far))).toMatchObject({ ok: true, entries: 20_700 });
    expect(reported).toEqual([
      [10_000, 20_700],
      [20_000, 20_700],
      [20_700, 20_700],
    ]);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("is stopped with a message", async () => {
    fill(10);
    await expect(ledger.verify(AbortSignal.abort())).rejects.toMatchObject({
      code: "cancelled",
    });
  });
});

describe("verification of what was sealed", () => {
  const file = (name: string) => join(folder.dataDir, "receipts", name);
  const second = "segment-101-200.jsonl.gz";
  const settings = (entries: number) => {
    mkdirSync(join(folder.dataDir, "config"), { recursive: true });
    writeFileSync(join(folder.dataDir, "config/receipts.yaml"), `keep_days: 10\nsegment_entries: ${entries}\n`);
  };
  const put = (row: EntryRow) =>
    sql("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", row.seq, row.receipt_id, row.kind, row.body, row.hash, row.prev_hash);

  /** Entries 1 to 200 in two sealed files, 201 and on in the database; a signed head at 100. Returns the entries as they were. */
  async function sealed(): Promise<EntryRow[]> {
    settings(100);
    fill(50);
    await ledger.sign();
    fill(60);
    const before = rows(storage);
    time += 11 * day;
    expect(await ledger.seal()).toEqual({ segments: 2, entries: 200 });
    dropTriggers(storage);
    return before;
  }
  const lines = (name: string) =>
    gunzipSync(readFileSync(file(name)))
      .toString()
      .trimEnd()
      .split("\n");
  const write = (name: string, all: readonly string[]) => writeFileSync(file(name), gzipSync(`${all.join("\n")}\n`));

  it.each<[what: string, tamper: () => unknown, seq: number, problem: Problem, expectedText: string]>([
    [
      "everything after it removed",
      () => sql("DELETE FROM ledger"),
      201,
      "removed",
      "is missing: the ledger had 224 entries and is truncated.",
    ],
    ["the record of the first file removed", () => sql("DELETE FROM ledger_segments WHERE from_seq = 1"), 1, "removed", "is missing."],
    [
      "the last entry of a file cut off",
      () => write(second, lines(second).slice(0, -1)),
      ...([200, "removed", `is missing in the sealed file ${second}.`] as const),
    ],
    [
      "a changed entry of a file",
      () => write(second, lines(second).with(8, lines(second)[8]?.replace("action", "acting") ?? "")),
      ...([109, "changed", `in the sealed file ${second} was modified.`] as const),
    ],
    ["its file gone", () => rmSync(file(second)), 101, "removed", `to 200 are missing: the sealed file ${second} was deleted.`],
    [
      "a file that is no such file",
      () => writeFileSync(file(second), "hello"),
      ...([101, "changed", `in the sealed file ${second} cannot be read.`] as const),
    ],
    [
      "more in a file than was sealed",
      () => write(second, [...lines(second), lines(second)[0] ?? ""]),
      ...([201, "inserted", `in the sealed file ${second} was added after sealing.`] as const),
    ],
    [
      "a file packed anew",
      () => writeFileSync(file(second), gzipSync(`${lines(second).join("\n")}\n`, { level: 1 })),
      ...([101, "changed", `in the sealed file ${second} does not have the hash of the sealed file.`] as const),
    ],
    [
      "the recorded hash of its last entry changed",
      () => sql("UPDATE ledger_segments SET last_hash = 'x' WHERE from_seq = 101"),
      ...([200, "changed", `in the sealed file ${second} does not match the hash it was sealed with.`] as const),
    ],
    [
      "the recorded hash before its first entry changed",
      () => sql("UPDATE ledger_segments SET prev_hash = 'x' WHERE from_seq = 101"),
      ...([101, "changed", `in the sealed file ${second} does not link to the previous entry.`] as const),
    ],
    [
      "a signed head after it changed",
      () => sql("UPDATE ledger_signatures SET hash = 'x' WHERE seq = 220"),
      ...([220, "signature", expect.stringContaining("has a forged signature") as unknown as string] as const),
    ],
    [
      "a signed head in it changed",
      () => sql("UPDATE ledger_signatures SET hash = 'x' WHERE seq = 100"),
      ...([100, "signature", expect.stringContaining("has a forged signature") as unknown as string] as const),
    ],
  ])("finds %s", async (_, tamper, seq, problem, expectedText) => {
    await sealed();
    tamper();
    const { firstBad } = await ledger.verify();
    expect(firstBad).toMatchObject({ seq, problem });
    if (typeof expectedText === "string") expect(firstBad?.message).toBe(`Entry ${seq} ${expectedText}`);
    else expect(firstBad?.message).toEqual(expectedText);
  });

  it.each([
    [101, "body"],
    [102, "body"],
    [150, "hash"],
    [200, "body"],
  ])("compares what a crash left in the database: entry %i, its %s", async (seq, column) => {
    const before = await sealed();
    before.filter((row) => row.seq > 100 && row.seq <= 200).forEach(put);
    expect((await ledger.verify()).ok).toBe(true);
    sql(`UPDATE ledger SET ${column} = ${column} || ' ' WHERE seq = ?`, seq);
    expect((await ledger.verify()).firstBad).toEqual({
      seq,
      receiptId: before[seq - 1]?.receipt_id,
      problem: "changed",
      message: `Entry ${seq} in the database does not match the sealed file.`,
    });
  });

  it("is stopped in the middle of a file as well", async () => {
    await sealed();
    await expect(ledger.verify(AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });

  /** Entries 1 to 1,000 leave the database for their file while the first 500 are checked; then the rest of them is. */
  async function sealedMeanwhile(change: (all: string[]) => string[]): Promise<Verification> {
    settings(1_000);
    fill(600);
    const before = rows(storage);
    time += 11 * day;
    expect(await ledger.seal()).toEqual({ segments: 1, entries: 1_000 });
    dropTriggers(storage);
    const name = "segment-1-1000.jsonl.gz";
    write(name, change(lines(name)));
    const segment = storage.db.prepare("SELECT * FROM ledger_segments").get() as Record<string, unknown>;
    sql("DELETE FROM ledger_segments");
    before.filter(({ seq }) => seq <= 1_000).forEach(put);
    let moved = false;
    const signal = {
      get aborted() {
        if (!moved) {
          moved = true;
          const last = JSON.parse(lines(name).at(-1) ?? "") as { hash: string };
          sql(
            "INSERT INTO ledger_segments VALUES (@from_seq, @to_seq, @prev_hash, @last_hash, @first_at, @last_at, @file, @sha256, @bytes, @at)",
            {
              ...segment,
              last_hash: last.hash,
              sha256: createHash("sha256")
                .update(readFileSync(file(name)))
                .digest("hex"),
            },
          );
          sql("DELETE FROM ledger WHERE seq <= 1000");
        }
        return false;
      },
    };
    return ledger.verify(signal as AbortSignal);
  }

  it("continues in the file where it was in the database", async () => {
    const result = await sealedMeanwhile((all) => all);
    expect(result).toMatchObject({ ok: true, entries: rows(storage).at(-1)?.seq, segments: { count: 1, entries: 1_000 } });
  });

  it("finds a file that is whole in itself and not what the database held", async () => {
    const rewritten = (all: string[]) => {
      let previous = genesis;
      return all.map((line) => {
        const body = /^\{"entry":(.*),"hash":"[0-9a-f]{64}"\}$/.exec(line)?.[1]?.replace("action 20", "acting 20") ?? "";
        previous = hashEntry(previous, body);
        return `{"entry":${body},"hash":"${previous}"}`;
      });
    };
    expect((await sealedMeanwhile(rewritten)).firstBad).toMatchObject({
      seq: 500,
      problem: "changed",
      message: "Entry 500 in the sealed file segment-1-1000.jsonl.gz does not match the entry that was in the database.",
    });
  });
});
