import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { receiptsHandlers } from "../../../agent-server/receipts/handlers.ts";
import { type Ledger, verifyExport } from "../../../agent-server/receipts/receipts.ts";
import { writeSegment } from "../../../agent-server/receipts/segment-file.ts";
import { createClock, type Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, keyStore, LedgerFolder, opening, rows } from "../../support/receipts/ledger-folder.ts";
import { processorMs } from "../../support/processor-time.ts";

const day = 86_400_000;
let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 0, 1);
  settings("keep_days: 10\nsegment_entries: 100\n");
  ({ ledger, storage } = folder.host(() => time, { secrets: keyStore() }));
});
afterEach(() => folder.remove());

function settings(text: string): void {
  mkdirSync(join(folder.dataDir, "config"), { recursive: true });
  writeFileSync(join(folder.dataDir, "config/receipts.yaml"), text);
}
/** Receipts a second apart: twice as many entries. */
/** Lets days pass, on each of which Lancelot is used: its clock does not jump. */
function live(days: number): void {
  for (let count = 0; count < days; count += 1) {
    time += day;
    createClock({ storage, now: () => time }).look();
  }
}

function fill(receipts: number, name = "action"): string[] {
  const ids = Array.from({ length: receipts }, (_, index) => {
    time += 1_000;
    return ledger.record(opening(`${name} ${index}`, { questId: `q${index % 3}` }), { status: "success", outputs: { index } });
  });
  ledger.flush();
  return ids;
}
const files = () => readdirSync(join(folder.dataDir, "receipts")).sort();
const path = (name: string) => join(folder.dataDir, "receipts", name);
const run = (sql: string, ...values: unknown[]) => storage.db.prepare(sql).run(...values);
const call = { owner: false, signal: new AbortController().signal };

/** Entries 1 to 200 in two sealed files, 201 and on in the database. */
async function sealed(): Promise<string[]> {
  const ids = fill(110);
  live(11);
  expect(await ledger.seal()).toEqual({ segments: 2, entries: 200 });
  return ids;
}

describe("sealing", () => {
  it("moves what is past its time into files, and leaves the rest", async () => {
    await sealed();
    expect(files()).toEqual(["segment-1-100.jsonl.gz", "segment-101-200.jsonl.gz"]);
    expect(rows(storage)[0]?.seq).toBe(201);
    expect(await ledger.verify()).toMatchObject({ ok: true, segments: { count: 2, entries: 200 }, signed: { heads: 2 } });
    if (process.platform !== "win32") expect(statSync(path("segment-1-100.jsonl.gz")).mode & 0o777).toBe(0o600);
    const lines = gunzipSync(readFileSync(path("segment-1-100.jsonl.gz")))
      .toString()
      .trimEnd()
      .split("\n");
    expect(lines).toHaveLength(100);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ entry: { actionName: "action 0", seq: 1, kind: "open" } });
  });

  it("leaves a receipt for each file", async () => {
    await sealed();
    const items = ledger.search({ query: "receipts.seal", limit: 10 }).items;
    expect(items.map(({ inputs, status }) => [inputs, status])).toEqual([
      [{ from: 101, to: 200 }, "success"],
      [{ from: 1, to: 100 }, "success"],
    ]);
    const { file, sha256 } = items[1]?.outputs ?? {};
    expect(sha256).toBe(
      createHash("sha256")
        .update(readFileSync(path(String(file))))
        .digest("hex"),
    );
  });

  it("does nothing before the time, and nothing twice", async () => {
    fill(110);
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
    live(11);
    await ledger.seal();
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
  });

  it("waits for a full file, but not for ever", async () => {
    fill(30);
    live(39);
    expect((await ledger.seal()).segments).toBe(0);
    live(2);
    fill(5);
    expect(await ledger.seal()).toEqual({ segments: 1, entries: 60 });
    expect(await ledger.verify()).toMatchObject({ ok: true, entries: 72 });
  });

  it("seals whatever its age when the database takes too much", async () => {
    settings("segment_entries: 100\nmax_bytes: 1000\n");
    fill(120);
    expect(await ledger.seal()).toEqual({ segments: 2, entries: 200 });
    settings("segment_entries: 100\nmax_bytes: 100000000\n");
    fill(120);
    expect((await ledger.seal()).segments).toBe(0);
  });

  it("keeps a receipt on one side: one that is open holds back what came after it", async () => {
    fill(20);
    const long = ledger.open(opening("long"));
    fill(100);
    live(11);
    expect(await ledger.seal()).toEqual({ segments: 1, entries: 40 });
    expect((await ledger.seal()).segments).toBe(0);
    ledger.close(long, { status: "success" });
    live(9);
    // Its closing is young, and it spans to there.
    expect((await ledger.seal()).segments).toBe(0);
    live(2);
    expect((await ledger.seal()).segments).toBe(1);
    expect((await ledger.find(long))?.metadata["sealed"]).toMatch(/^segment-41-/);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("seals nothing by age with a clock that jumped, and nothing when it is back", async () => {
    fill(110);
    createClock({ storage, now: () => time }).look();
    time += 365 * day;
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
    live(9);
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
    time -= 365 * day;
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
    // Ten days of use, and the entries are as old as they may be.
    live(12);
    expect((await ledger.seal()).segments).toBe(2);
  });

  it("seals nothing by itself or on request while config/receipts.yaml is broken", async () => {
    fill(110);
    live(11);
    settings("keep_days: [\n");
    expect(await ledger.seal()).toEqual({ segments: 0, entries: 0 });
    settings("keep_days: 10\nsegment_entries: 100\n");
    expect((await ledger.seal()).segments).toBe(2);
  });

  it("does not seal what was modified, and says where", async () => {
    fill(110);
    live(11);
    dropTriggers(storage);
    run("UPDATE ledger SET body = replace(body, 'action 7', 'action 8') WHERE seq = 15");
    await expect(ledger.seal()).rejects.toMatchObject({ code: "conflict", message: expect.stringMatching(/^Entry 15 /) as string });
    expect(files()).toEqual([]);
    expect(ledger.search({ query: "receipts.seal", limit: 1 }).items[0]).toMatchObject({ status: "failure" });
  });

  it("stops between two steps on request, and continues later", async () => {
    fill(400);
    live(11);
    const stop = new AbortController();
    const running = ledger.seal(stop.signal);
    setImmediate(() => stop.abort());
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect((await ledger.verify()).ok).toBe(true);
    await ledger.seal();
    expect(await ledger.verify()).toMatchObject({ ok: true, segments: { entries: 800 } });
  });

  it("never holds the host up for long", async () => {
    settings("keep_days: 10\nsegment_entries: 2000\n");
    fill(3_000);
    live(11);
    const pauses: number[] = [];
    let last = processorMs();
    let running = true;
    const beat = () => {
      pauses.push(processorMs() - last);
      last = processorMs();
      if (running) setImmediate(beat);
    };
    setImmediate(beat);
    await ledger.seal();
    running = false;
    pauses.sort((a, b) => a - b);
    expect(pauses[Math.floor(pauses.length * 0.95)]).toBeLessThan(10);
  });

  it("uses the settings before an owner's file that cannot be used, and says so", async () => {
    fill(110);
    live(11);
    settings("keep_days: never\n");
    expect((await ledger.seal()).segments).toBe(0);
    expect(ledger.degraded()).toMatch(/config\/receipts\.yaml.*keep_days/);
    settings("keep_days: 10\nsegment_entries: 100\n");
    expect((await ledger.seal()).segments).toBe(2);
    expect(ledger.degraded()).toBeNull();
  });

  it("leaves its temporary files to nobody", async () => {
    mkdirSync(join(folder.dataDir, "receipts"));
    writeFileSync(path("segment-1-100.jsonl.gz.abc.tmp"), "left by a crash");
    await ledger.seal();
    expect(files()).toEqual([]);
    const broken = async function* () {
      yield [];
      throw new Error("stop");
    };
    await expect(writeSegment(path("segment-1-2.jsonl.gz"), broken())).rejects.toThrow("stop");
    expect(files()).toEqual([]);
  });
});

describe("what was sealed", () => {
  it("is found by its id, and says where it is", async () => {
    const ids = await sealed();
    expect(ledger.get(ids[3] ?? "")).toBeNull();
    const receipt = await ledger.find(ids[3] ?? "");
    expect(receipt).toMatchObject({
      id: ids[3],
      actionName: "action 3",
      outputs: { index: 3 },
      metadata: { sealed: "segment-1-100.jsonl.gz" },
    });
    expect(receipt?.prevHash).toMatch(/^[0-9a-f]{64}$/);
    expect((await ledger.find(ids[99] ?? ""))?.metadata["sealed"]).toBe("segment-101-200.jsonl.gz");
    expect((await ledger.find(ids[105] ?? ""))?.metadata).toEqual({});
    expect(await ledger.find("00000000-0000-7000-8000-000000000000")).toBeNull();
    expect(await ledger.find("nonsense")).toBeNull();
  });

  it("is reported by a search that reaches back to it, on its last page", async () => {
    const ids = await sealed();
    const until = (await ledger.find(ids[99] ?? ""))?.timestamp;
    expect(ledger.search({ limit: 100 }).sealed).toEqual({ entries: 200, until });
    expect(ledger.search({ limit: 1 }).sealed).toBeUndefined();
    expect(ledger.search({ limit: 100, from: new Date(time - day).toISOString() }).sealed).toBeUndefined();
    expect(ledger.search({ query: "action", limit: 100 }).items.map(({ actionName }) => actionName)).toEqual(
      Array.from({ length: 10 }, (_, index) => `action ${109 - index}`),
    );
  });

  it("is shown by the methods of the contract", async () => {
    const ids = await sealed();
    const handlers = receiptsHandlers({ ledger, emit: () => undefined });
    expect(await handlers["receipts.get"]({ id: ids[0] ?? "" }, call)).toMatchObject({ actionName: "action 0" });
    expect(await handlers["receipts.trace"]({ id: ids[0] ?? "" }, call)).toMatchObject({
      roots: [{ receipt: { metadata: { sealed: "segment-1-100.jsonl.gz" } }, children: [] }],
    });
    expect(await handlers["receipts.trace"]({ id: ids[109] ?? "" }, call)).toMatchObject({
      roots: [{ receipt: { actionName: "action 109" } }],
    });
    expect(await handlers["receipts.trace"]({ id: "gone" }, call)).toEqual({ roots: [] });
    await expect(handlers["receipts.get"]({ id: "gone" }, call)).rejects.toMatchObject({ code: "not_found" });
  });

  it("is in an export, which verifies", async () => {
    await sealed();
    const made = await ledger.export({ format: "ledger" });
    const result = await verifyExport(join(folder.dataDir, "exports", made.file));
    expect(result).toMatchObject({ ok: true, entries: made.entries, segments: { count: 2, entries: 200 }, signed: { heads: 3 } });
    expect(result.head).toBe((await ledger.verify()).head);
  });

  it("meanwhile is in an export that was begun before", async () => {
    settings("keep_days: 10\nsegment_entries: 1000\n");
    fill(2_000);
    live(11);
    const exporting = ledger.export({ format: "ledger" });
    await ledger.seal();
    const { file } = await exporting;
    expect(await verifyExport(join(folder.dataDir, "exports", file))).toMatchObject({ ok: true, entries: 4_000 });
  });

  it("is not missed by an export when it was removed by hand", async () => {
    fill(400);
    dropTriggers(storage);
    run("DELETE FROM ledger WHERE seq = 300");
    await expect(ledger.export({ format: "ledger" })).rejects.toThrow("Entry 300 of the ledger is missing");
  });

  it("does not stop a search when another window drops its part of the index meanwhile", async () => {
    await sealed();
    expect(ledger.search({ query: "action", limit: 3 }).items).toHaveLength(3);
    storage.db.exec("DROP TABLE receipts_fts_0");
    expect(ledger.search({ query: "action", limit: 3 }).items).toEqual([]);
  });

  it("half removed does not make a new host rebuild the derived table", async () => {
    const ids = fill(110);
    live(11);
    const before = rows(storage);
    await ledger.seal();
    dropTriggers(storage);
    // As a crash in the middle leaves it: the closing of a receipt whose opening is gone, and those after it.
    for (const row of before.filter(({ seq }) => seq >= 160 && seq <= 200))
      run("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", row.seq, row.receipt_id, row.kind, row.body, row.hash, row.prev_hash);
    const projected = () => storage.db.prepare("SELECT projected_seq FROM receipts_progress").pluck().get();
    const at = projected();
    expect(at).toBeGreaterThan(200);
    const next = folder.host(() => time).ledger;
    expect(projected()).toBe(at);
    expect((await next.find(ids[105] ?? ""))?.actionName).toBe("action 105");
  });

  it("makes an export impossible, with a message, when its file is gone", async () => {
    await sealed();
    rmSync(path("segment-101-200.jsonl.gz"));
    await expect(ledger.export({ format: "ledger" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("sealed file") as string,
    });
    expect(readdirSync(join(folder.dataDir, "exports"))).toEqual([]);
  });

  it("stays sealed for a host that restarts, and new receipts follow", async () => {
    await sealed();
    storage.close();
    ({ ledger, storage } = folder.host(() => time, { secrets: keyStore() }));
    const [id] = fill(1, "later");
    expect(ledger.search({ query: "later", limit: 1 }).items[0]?.id).toBe(id);
    expect(storage.db.prepare("SELECT count(*) FROM receipts").pluck().get()).toBe(13);
    expect(await ledger.verify()).toMatchObject({ segments: { count: 2 } });
  });
});

describe("verification with sealed files", () => {
  const rewrite = (name: string, change: (lines: string[]) => void) => {
    const lines = gunzipSync(readFileSync(path(name)))
      .toString()
      .trimEnd()
      .split("\n");
    change(lines);
    writeFileSync(path(name), gzipSync(`${lines.join("\n")}\n`, { level: 1 }));
  };
  const second = "segment-101-200.jsonl.gz";

  it.each<[what: string, tamper: () => unknown, seq: number, problem: string, message: RegExp]>([
    ["a missing file", () => rmSync(path(second)), 101, "removed", /to 200 are missing: the sealed file .* was deleted/],
    [
      "a changed entry",
      () => rewrite(second, (lines) => (lines[6] = lines[6]?.replace("action", "acting") ?? "")),
      107,
      "changed",
      /was modified/,
    ],
    ["a removed entry", () => rewrite(second, (lines) => lines.splice(6, 1)), 107, "removed", /is missing/],
    ["a cut tail", () => rewrite(second, (lines) => lines.splice(90)), 191, "removed", /is missing/],
    ["added after sealing", () => rewrite(second, (lines) => lines.push(lines[0] ?? "")), 201, "inserted", /added after sealing/],
    ["a line that cannot be read", () => rewrite(second, (lines) => (lines[9] = "{}")), 110, "changed", /cannot be parsed/],
    ["the same entries, packed anew", () => rewrite(second, () => undefined), 101, "changed", /hash of the sealed file/],
    ["bytes that are no gzip", () => writeFileSync(path(second), "hello"), 101, "changed", /cannot be read/],
    ["half a file", () => writeFileSync(path(second), readFileSync(path(second)).subarray(0, 50)), 101, "changed", /cannot be read/],
    ["a file in place of another", () => writeFileSync(path(second), readFileSync(path("segment-1-100.jsonl.gz"))), 101, "changed", /./],
    ["a segment's row removed", () => run("DELETE FROM ledger_segments WHERE from_seq = 101"), 101, "removed", /missing/],
    [
      "a segment's hash exchanged",
      () => run("UPDATE ledger_segments SET last_hash = 'x' WHERE from_seq = 101"),
      200,
      "changed",
      /sealed with/,
    ],
    [
      "a segment's beginning exchanged",
      () => run("UPDATE ledger_segments SET prev_hash = 'x' WHERE from_seq = 101"),
      101,
      "changed",
      /link to/,
    ],
  ])("finds %s", async (_, tamper, seq, problem, message) => {
    await sealed();
    dropTriggers(storage);
    tamper();
    const { ok, firstBad } = await ledger.verify();
    expect(ok).toBe(false);
    expect(firstBad).toMatchObject({ seq, problem });
    expect(firstBad?.message).toMatch(message);
  });

  it("compares what a crash left of sealed entries in the database", async () => {
    fill(110);
    const before = rows(storage);
    live(11);
    await ledger.seal();
    const put = (row: (typeof before)[number]) =>
      run("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", row.seq, row.receipt_id, row.kind, row.body, row.hash, row.prev_hash);
    const left = before.filter(({ seq }) => seq > 150 && seq <= 200);
    dropTriggers(storage);
    left.forEach(put);
    expect((await ledger.verify()).firstBad).toBeUndefined();
    run("UPDATE ledger SET body = replace(body, 'action', 'acting') WHERE seq = 161");
    expect((await ledger.verify()).firstBad).toMatchObject({ seq: 161, problem: "changed" });
    // The next sealing clears them away.
    await ledger.seal();
    expect((await ledger.verify()).firstBad).toBeUndefined();
  });

  it("continues while entries are sealed under it", async () => {
    fill(3_000);
    live(11);
    const checks = Promise.all(Array.from({ length: 3 }, () => ledger.verify()));
    await ledger.seal();
    for (const result of await checks) expect(result.firstBad).toBeUndefined();
  });
});

describe("the ledger's table", () => {
  it("lets an entry go only when a segment holds it", async () => {
    await sealed();
    expect(() => run("DELETE FROM ledger WHERE seq = 201")).toThrow(/append-only/);
    expect(() => run("DELETE FROM ledger")).toThrow(/append-only/);
    expect(() => run("DELETE FROM ledger_segments")).toThrow(/append-only/);
    expect(() => run("UPDATE ledger_segments SET to_seq = 1000 WHERE from_seq = 101")).toThrow(/append-only/);
  });

  it.each([
    ["that leaves a gap", 205, 210],
    ["that is there already", 1, 100],
    ["past the end", 201, 9_999],
  ])("takes no segment %s", async (_, from, to) => {
    await sealed();
    expect(() =>
      run(
        `INSERT INTO ledger_segments SELECT ?, ?, (SELECT prev_hash FROM ledger WHERE seq = ?), 'x', 0, 0, 'f', 's', 1, 1`,
        from,
        to,
        from,
      ),
    ).toThrow(/continues from the one before|UNIQUE/);
  });
});
