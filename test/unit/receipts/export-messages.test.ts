import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LancelotError } from "../../../agent-server/contract/errors.ts";
import { exportReceipts } from "../../../agent-server/receipts/export.ts";
import { type Ledger, verifyExport } from "../../../agent-server/receipts/receipts.ts";
import type { PublicKey, SignedHead } from "../../../agent-server/receipts/signature.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, keyStore, LedgerFolder, opening, rows } from "../../support/receipts/ledger-folder.ts";

const day = 86_400_000;
let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 10, 21, 12, 34, 56, 789);
  ({ ledger, storage } = folder.host(() => time, { secrets: keyStore() }));
});
afterEach(() => folder.remove());

const path = (file: string) => join(folder.dataDir, "exports", file);
const lines = (file: string) => readFileSync(path(file), "utf8").trimEnd().split("\n");
const exported = () => (existsSync(path("")) ? readdirSync(path("")) : []);
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);
const ledgerId = () => storage.db.prepare<[], string>("SELECT ledger_id FROM ledger_identity").pluck().get();

function fill(receipts: number, name = "action"): void {
  for (let index = 0; index < receipts; index += 1) {
    time += 1_000;
    ledger.record(opening(`${name} ${index}`, { questId: `q${index % 2}` }), { status: "success" });
  }
  ledger.flush();
}
async function seal(): Promise<void> {
  mkdirSync(join(folder.dataDir, "config"), { recursive: true });
  writeFileSync(join(folder.dataDir, "config/receipts.yaml"), "keep_days: 10\nsegment_entries: 100\n");
  time += 11 * day;
  await ledger.seal();
}
const messageOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as LancelotError;
    return [code, message];
  }
  return null;
};

describe("an export of the ledger", () => {
  it("says in its first line what it is, by which keys it is signed and what was sealed", async () => {
    fill(60);
    await seal();
    await ledger.rotateKey();
    const made = await ledger.export({ format: "ledger" });
    const all = lines(made.file);
    const keys = storage.db
      .prepare<[], PublicKey>("SELECT key_id AS keyId, public_key AS publicKey FROM ledger_keys ORDER BY at, rowid")
      .all();
    const [segment] = storage.db.prepare<[], { sha256: string; last_hash: string }>("SELECT * FROM ledger_segments").all();
    const header = JSON.parse(all[0] ?? "") as { keys: PublicKey[] };
    expect(header).toEqual({
      lancelot: "ledger",
      version: 1,
      ledger: ledgerId(),
      exportedAt: new Date(time).toISOString(),
      keys: expect.any(Array) as unknown,
      sealed: [{ from: 1, to: 100, file: "segment-1-100.jsonl.gz", sha256: segment?.sha256, lastHash: segment?.last_hash }],
    });
    expect(new Set(header.keys.map(({ keyId }) => keyId))).toEqual(new Set(keys.map(({ keyId }) => keyId)));
    // Each signed head stands right after its entry; of one entry there may be two.
    const heads = storage.db
      .prepare<[], SignedHead>("SELECT seq, hash, at, key_id AS keyId, signature FROM ledger_signatures ORDER BY seq, at")
      .all();
    expect(heads.length).toBeGreaterThanOrEqual(3);
    let seq = 0;
    const found: unknown[] = [];
    for (const line of all.slice(1, -1)) {
      const one = JSON.parse(line) as { entry?: { seq: number }; signature?: SignedHead };
      if (one.entry !== undefined) {
        seq += 1;
        expect(one.entry.seq).toBe(seq);
      } else {
        expect(one.signature?.seq).toBe(seq);
        found.push(one.signature);
      }
    }
    expect(found).toEqual(heads);
    expect(JSON.parse(all.at(-1) ?? "")).toEqual({ end: { entries: seq, head: rows(storage).at(-1)?.hash, signatures: heads.length } });
    expect(made).toMatchObject({ entries: seq, bytes: statSync(path(made.file)).size });
    expect(await verifyExport(path(made.file))).toMatchObject({ ok: true, segments: { count: 1, entries: 100 } });
    if (process.platform !== "win32") expect(statSync(path("")).mode & 0o777).toBe(0o700);
  });

  it("holds two heads of one entry, signed with two keys", async () => {
    fill(1);
    const first = await ledger.sign();
    sql(
      "INSERT INTO ledger_signatures SELECT seq, hash, at + 1, 'another', signature FROM ledger_signatures WHERE seq = ?",
      first?.seq ?? 0,
    );
    const { file } = await ledger.export({ format: "ledger" });
    expect(lines(file).filter((line) => line.startsWith('{"signature"'))).toHaveLength(2);
  });

  it.each([1, 249, 250, 251, 500, 501])("holds each of the entries of %i receipts once", async (count) => {
    fill(count);
    const { file, entries } = await ledger.export({ format: "ledger" });
    expect(entries).toBe(2 * count);
    expect(await verifyExport(path(file))).toMatchObject({ ok: true, entries: 2 * count });
  });

  it.each([{ questId: "q" }, { from: "2026-11-21T12:00:00.000Z" }, { to: "2026-11-21T12:00:00.000Z" }])(
    "is refused with %j",
    async (filter) => {
      expect(await messageOf(ledger.export({ format: "ledger", ...filter }))).toEqual([
        "invalid_params",
        "A ledger export cannot be filtered, because it could not be verified. Remove the task and time filters.",
      ]);
    },
  );

  const missing = (seq: number) => [
    "unavailable",
    `Entry ${seq} of the ledger is missing or unreadable, so nothing was exported. Verify the receipts for details.`,
  ];
  const second = "segment-101-200.jsonl.gz";
  const sealedFile = () => join(folder.dataDir, "receipts", second);
  const rewrite = (change: (all: string[]) => string[]) => {
    const all = gunzipSync(readFileSync(sealedFile())).toString().trimEnd().split("\n");
    writeFileSync(sealedFile(), gzipSync(`${change(all).join("\n")}\n`));
  };
  it.each<[what: string, harm: () => void, expected: unknown]>([
    ["an entry is gone", () => sql("DELETE FROM ledger WHERE seq = 210"), missing(210)],
    ["the first entry in the database is gone", () => sql("DELETE FROM ledger WHERE seq = 201"), missing(201)],
    ["the last entry is gone", () => sql("DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)"), missing(226)],
    ["all entries are gone", () => sql("DELETE FROM ledger"), missing(201)],
    ["a line of a sealed file cannot be read", () => rewrite((all) => all.with(20, "{}")), missing(101)],
    ["a sealed file is too short", () => rewrite((all) => all.slice(0, 90)), missing(191)],
    ["a sealed file lacks its last entry", () => rewrite((all) => all.slice(0, 99)), missing(200)],
    [
      "a sealed file is gone",
      () => rmSync(sealedFile()),
      ["unavailable", "A sealed file of the ledger is missing, so nothing was exported. Verify the receipts to find out which."],
    ],
    [
      "a sealed file is no such file",
      () => writeFileSync(sealedFile(), "x"),
      ["unavailable", "The export could not be written. Check the permissions of the folder exports in Lancelot's data folder."],
    ],
  ])("ends with a message, and leaves no file, when %s", async (_, harm, expected) => {
    fill(111);
    await seal();
    await ledger.sign();
    dropTriggers(storage);
    harm();
    expect(await messageOf(ledger.export({ format: "ledger" }))).toEqual(expected);
    expect(exported()).toEqual([]);
  });

  it("ends with a message when it is stopped, and as it came when the program is at fault", async () => {
    fill(1);
    expect(await messageOf(ledger.export({ format: "ledger" }, AbortSignal.abort()))).toEqual(["cancelled", expect.any(String)]);
    const fault = new TypeError("a fault");
    const failing = exportReceipts(
      {
        db: storage.db,
        dataDir: folder.dataDir,
        ledgerId: "x",
        keys: [],
        now: () => time,
        search: () => {
          throw fault;
        },
      },
      { format: "receipts" },
    );
    await expect(failing).rejects.toBe(fault);
    const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
    const filling = exportReceipts(
      {
        db: storage.db,
        dataDir: folder.dataDir,
        ledgerId: "x",
        keys: [],
        now: () => time,
        search: () => {
          throw full;
        },
      },
      { format: "receipts" },
    );
    await expect(filling).rejects.toMatchObject({
      code: "unavailable",
      message: "The disk that holds Lancelot's data folder is full, so nothing was exported. Free some space and try again.",
      data: { reason: "ENOSPC" },
      cause: full,
    });
    expect(exported()).toEqual([]);
    rmSync(path(""), { recursive: true });
    writeFileSync(path(""), "a file in the way");
    expect(await messageOf(ledger.export({ format: "receipts" }))).toEqual([
      "unavailable",
      "The export could not be written. Check the permissions of the folder exports in Lancelot's data folder.",
    ]);
  });

  it("of a ledger whose head is gone holds nothing", async () => {
    fill(1);
    dropTriggers(storage);
    sql("DELETE FROM ledger_head");
    const { file, entries } = await ledger.export({ format: "ledger" });
    expect(entries).toBe(0);
    expect(await verifyExport(path(file))).toMatchObject({ ok: true, entries: 0, head: null });
  });

  it("passes over heads that were signed of entries that are no more", async () => {
    fill(2);
    await ledger.sign();
    dropTriggers(storage);
    sql("UPDATE ledger_signatures SET seq = 99");
    const { file } = await ledger.export({ format: "ledger" });
    expect(lines(file).filter((line) => line.startsWith('{"signature"'))).toHaveLength(1);
  });
});

describe("an export of receipts", () => {
  it("says in its first line what it is, and holds page after page of them", async () => {
    fill(1_100);
    const made = await ledger.export({ format: "receipts" });
    const [header, ...rest] = lines(made.file).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(header).toEqual({ lancelot: "receipts", version: 1, ledger: ledgerId(), exportedAt: new Date(time).toISOString() });
    expect(rest.map(({ actionName }) => actionName)).toEqual(Array.from({ length: 1_100 }, (_, index) => `action ${1_099 - index}`));
    expect(made.file).toMatch(/^receipts-20261121T125316Z-[0-9a-f]{6}\.jsonl$/);
    expect(made.entries).toBe(1_100);
    expect(exported()).toEqual([made.file]);
  });
});

describe("the check of an export", () => {
  type Edit = (all: string[]) => unknown;
  const first = (all: string[], start: string) => all.findIndex((line) => line.startsWith(start));
  // Header, ten entries and a signature twice, end.
  it.each<[what: string, edit: Edit, messageOf: string]>([
    ["a changed entry", (all) => (all[7] = all[7]?.replace("action", "acting") ?? ""), "Entry 7 in the export was modified."],
    ["a removed entry", (all) => all.splice(7, 1), "Entry 7 is missing in the export."],
    ["a cut line", (all) => (all[7] = all[7]?.slice(0, -9) ?? ""), "Entry 7 in the export cannot be parsed."],
    ["a line that is nothing", (all) => all.splice(7, 0, "{}"), "Entry 7 in the export cannot be parsed."],
    ["a line that is no JSON", (all) => all.splice(7, 0, "hello"), "Entry 7 in the export cannot be parsed."],
    ["the last entry of a signed part removed", (all) => all.splice(10, 1), "Entry 10 is missing in the export."],
    ["a signature put later", (all) => all.splice(12, 0, ...all.splice(11, 1)), "Entry 10 has its signature in the wrong place."],
    [
      "a signature removed",
      (all) => all.splice(first(all, '{"signature"'), 1),
      "Entry 21 or a later entry lost its signature: 2 were exported, 1 are in the file.",
    ],
    ["the end cut off", (all) => all.splice(-1), "Entry 21 or the end is missing: the export is truncated."],
    ["a cut tail", (all) => all.splice(12, 11), "Entry 11 is missing: the export had 20 entries."],
    [
      "fewer entries at its end",
      (all) => (all[all.length - 1] = all.at(-1)?.replace('"entries":20', '"entries":18') ?? ""),
      "Entry 19 was added after the export was made.",
    ],
    [
      "another head at its end",
      (all) => (all[all.length - 1] = all.at(-1)?.replace(/"head":"\w/, '"head":"x') ?? ""),
      "Entry 20 does not match the head of the export.",
    ],
    ["a line after the end", (all) => all.push("{}"), "Entry 21 or other data follows the end of the export."],
    ["a second header", (all) => all.splice(5, 0, all[0] ?? ""), "Entry 5 in the export cannot be parsed."],
  ])("says what is wrong: %s", async (_, edit, message) => {
    fill(5);
    await ledger.sign();
    fill(5);
    const { file } = await ledger.export({ format: "ledger" });
    const all = lines(file);
    edit(all);
    writeFileSync(path(file), `${all.join("\n")}\n`);
    const { ok, firstBad } = await verifyExport(path(file));
    expect([ok, firstBad?.message]).toEqual([false, message]);
    if (message.includes("is truncated") || message.includes("is missing")) expect(firstBad?.problem).toBe("removed");
    expect(firstBad?.receiptId ?? null).toBe(message.includes("was modified") ? rows(storage)[6]?.receipt_id : null);
  });

  it("takes the ends of lines of any system, and empty lines", async () => {
    fill(3);
    const { file } = await ledger.export({ format: "ledger" });
    writeFileSync(path(file), `${lines(file).join("\r\n\r\n")}\r\n`);
    expect(await verifyExport(path(file))).toMatchObject({
      ok: true,
      entries: 6,
      exportedAt: new Date(time).toISOString(),
      ledger: ledgerId(),
    });
  });

  it("counts the signatures of a key that is named, and of no other", async () => {
    fill(3);
    const { file } = await ledger.export({ format: "ledger" });
    const { keyIds, signed } = await verifyExport(path(file));
    expect(await verifyExport(path(file), { keyId: keyIds[0] })).toMatchObject({ ok: true, signed, keyIds });
    expect((await verifyExport(path(file), { keyId: "0123456789abcdef" })).firstBad).toMatchObject({ seq: 6, problem: "signature" });
  });

  it("reports when it cannot be made", async () => {
    fill(3);
    const { file } = await ledger.export({ format: "ledger" });
    expect(await messageOf(verifyExport(path(file), { signal: AbortSignal.abort() }))).toEqual(["cancelled", expect.any(String)]);
    expect(await messageOf(verifyExport(path("nowhere")))).toEqual(["not_found", "There is no such file."]);
    await expect(verifyExport(path(""))).rejects.toMatchObject({
      code: "unavailable",
      message: "The file cannot be read. Check its permissions.",
      data: { reason: "EISDIR" },
    });
    writeFileSync(path("empty"), "\n\n");
    expect(await messageOf(verifyExport(path("empty")))).toEqual(["invalid_params", "This file is not a ledger export: it is empty."]);
    for (const text of [
      "hello",
      "{}",
      '{"lancelot":"receipts","version":1}',
      lines(file)[0]?.replace('"version":1', '"version":2') ?? "",
    ]) {
      writeFileSync(path("other"), text);
      expect(await messageOf(verifyExport(path("other")))).toEqual([
        "invalid_params",
        "This file is not a ledger export: its first line is not an export header.",
      ]);
    }
  });
});
