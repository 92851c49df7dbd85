import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LancelotError } from "../../../agent-server/contract/errors.ts";
import { genesis, hashEntry } from "../../../agent-server/receipts/entry.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import { createSealing, type SealingDeps, type SealStep } from "../../../agent-server/receipts/sealing.ts";
import { readSegment, type Segment, segmentName, writeSegment } from "../../../agent-server/receipts/segment-file.ts";
import { RetentionSettings } from "../../../agent-server/receipts/retention-settings.ts";
import { createClock, type Storage, syncFolder } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, keyStore, LedgerFolder, type LedgerHost, opening, rewriteFrom, rows } from "../../support/receipts/ledger-folder.ts";

const day = 86_400_000;
let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 0, 1);
  ({ ledger, storage } = folder.host(() => time, { secrets: keyStore() }));
});
afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

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
    return ledger.record(opening(`${name} ${index}`), { status: "success", outputs: { index } });
  });
  ledger.flush();
  return ids;
}
const path = (name: string) => join(folder.dataDir, "receipts", name);
const files = () => (existsSync(path("")) ? readdirSync(path("")).sort() : []);
const segments = () => storage.db.prepare<[], Segment>("SELECT * FROM ledger_segments ORDER BY from_seq").all();
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);
const settings = (text: string) => {
  mkdirSync(join(folder.dataDir, "config"), { recursive: true });
  writeFileSync(join(folder.dataDir, "config/receipts.yaml"), text);
};
const lines = (name: string) =>
  gunzipSync(readFileSync(path(name)))
    .toString()
    .trimEnd()
    .split("\n");

/** Sealing as the ledger does it, told of each step. */
function sealing(more: Partial<SealingDeps> = {}, at: LedgerHost = { ledger, storage }) {
  return createSealing({
    storage: at.storage,
    settings: () => RetentionSettings.parse({ keep_days: 10, segment_entries: 100, max_bytes: 0 }),
    now: () => time,
    advance: () => {
      at.ledger.get("brings the table up to date");
      return true;
    },
    sign: () => at.ledger.sign(),
    record: (_, work) => work(),
    ...more,
  });
}
const messageOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as LancelotError;
    return code === undefined ? message : [code, message];
  }
  return null;
};

describe("a sealing", () => {
  it("goes from step to step, and says in the database what lies where", async () => {
    const ids = fill(70);
    const before = rows(storage);
    live(11);
    const steps: SealStep[] = [];
    const ranges: unknown[] = [];
    const result = await sealing({
      reached: (step) => steps.push(step),
      record: async (range, work) => {
        ranges.push(range);
        return work();
      },
    }).run();
    expect(result).toEqual({ segments: 1, entries: 100 });
    expect(ranges).toEqual([{ from: 1, to: 100 }]);
    expect(steps).toEqual(["removed", "begun", "written", "checked", "recorded", "removing", "removed"]);
    const bytes = readFileSync(path("segment-1-100.jsonl.gz"));
    expect(segments()).toEqual([
      {
        from_seq: 1,
        to_seq: 100,
        prev_hash: genesis,
        last_hash: before[99]?.hash,
        first_at: Date.UTC(2026, 0, 1) + 1_000,
        last_at: Date.UTC(2026, 0, 1) + 50_000,
        file: "segment-1-100.jsonl.gz",
        sha256: createHash("sha256").update(bytes).digest("hex"),
        bytes: bytes.length,
        at: time,
      },
    ]);
    expect(lines("segment-1-100.jsonl.gz")).toEqual(before.slice(0, 100).map(({ body, hash }) => `{"entry":${body},"hash":"${hash}"}`));
    expect(rows(storage)[0]?.seq).toBe(101);
    expect(storage.db.prepare("SELECT min(open_seq) FROM receipts").pluck().get()).toBe(101);
    if (process.platform !== "win32") {
      expect(statSync(path("")).mode & 0o777).toBe(0o700);
      expect(statSync(path("segment-1-100.jsonl.gz")).mode & 0o777).toBe(0o600);
    }
    // The next one continues from there.
    time += 60_000;
    fill(40);
    live(11);
    await sealing().run();
    expect(segments()[1]).toMatchObject({ from_seq: 101, to_seq: 200, prev_hash: before[99]?.hash });
    expect((await ledger.find(ids[50] ?? ""))?.prevHash).toBe(before[100]?.hash);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it.each<SealStep>(["begun", "written", "checked", "recorded", "removing", "removed"])(
    "that ends after the step %s leaves a ledger that verifies, and the next one ends it",
    async (step) => {
      fill(300);
      live(11);
      let reached = 0;
      const stopped = sealing({
        reached: (at) => {
          if (at === step && (step !== "removed" || reached > 0)) throw new Error("gone");
          if (at === step) reached += 1;
        },
      });
      await expect(stopped.run()).rejects.toThrow("gone");
      expect((await ledger.verify()).ok).toBe(true);
      await sealing().run();
      expect(segments().at(-1)).toMatchObject({ to_seq: 600 });
      expect(rows(storage).filter(({ seq }) => seq <= 600)).toEqual([]);
      expect(storage.db.prepare("SELECT count(*) FROM receipts WHERE open_seq <= 600").pluck().get()).toBe(0);
      expect(files().filter((name) => name.endsWith(".tmp"))).toEqual([]);
      expect(await ledger.verify()).toMatchObject({ ok: true, segments: { count: 6, entries: 600 } });
    },
  );

  it.each<[what: string, harm: () => void, message: string]>([
    [
      "short of entries",
      () => writeFileSync(path("segment-1-100.jsonl.gz"), gzipSync(`${lines("segment-1-100.jsonl.gz").slice(0, 90).join("\n")}\n`)),
      "The sealed file ends at entry 90 instead of 100.",
    ],
    [
      "changed",
      () =>
        writeFileSync(
          path("segment-1-100.jsonl.gz"),
          gzipSync(`${lines("segment-1-100.jsonl.gz").join("\n").replace("action 20", "acting 20")}\n`),
        ),
      "Entry 41 in the sealed file was modified.",
    ],
    [
      "unreadable in a line",
      () => writeFileSync(path("segment-1-100.jsonl.gz"), gzipSync(`${lines("segment-1-100.jsonl.gz").with(49, "{").join("\n")}\n`)),
      "Entry 50 in the sealed file cannot be parsed.",
    ],
    [
      "longer",
      () => writeFileSync(path("segment-1-100.jsonl.gz"), gzipSync(`${[...lines("segment-1-100.jsonl.gz"), "x"].join("\n")}\n`)),
      "Entry 101 in the sealed file cannot be parsed.",
    ],
  ])("removes nothing when its file is %s", async (_, harm, message) => {
    fill(60);
    live(11);
    const one = sealing({
      reached: (step) => {
        if (step === "written") harm();
      },
    });
    expect(await messageOf(one.run())).toEqual(["internal", message]);
    expect(segments()).toEqual([]);
    expect(rows(storage)[0]?.seq).toBe(1);
    // The file is written anew.
    expect(await sealing().run()).toEqual({ segments: 1, entries: 100 });
    expect((await ledger.verify()).ok).toBe(true);
  });

  it.each<[what: string, harm: () => void]>([
    ["its body changed", () => sql("UPDATE ledger SET body = replace(body, 'action', 'acting') WHERE seq = 15")],
    ["its hash before changed", () => sql("UPDATE ledger SET prev_hash = 'x' WHERE seq = 15")],
    ["its kind changed", () => sql("UPDATE ledger SET kind = 'close' WHERE seq = 15")],
    ["it removed", () => sql("DELETE FROM ledger WHERE seq = 15")],
    ["its body no JSON", () => sql("UPDATE ledger SET body = 'x' WHERE seq = 15")],
    ["another number, and fresh hashes from there on", () => rewriteFrom(storage, 15, (body) => body.replace('"seq":15,', '"seq":99,'))],
    [
      "another hash before it, and its own to fit",
      () => {
        const { body } = rows(storage)[14] ?? { body: "" };
        sql("UPDATE ledger SET prev_hash = 'x', hash = ? WHERE seq = 15", hashEntry("x", body));
      },
    ],
  ])("does not take an entry with %s, and says which", async (_, harm) => {
    fill(60);
    live(11);
    ledger.get("is projected");
    dropTriggers(storage);
    harm();
    expect(await messageOf(sealing().run())).toEqual([
      "conflict",
      "Entry 15 of the ledger was modified, so it is not sealed. Verify the receipts for details.",
    ]);
    expect(files()).toEqual([]);
  });

  it("is one window's at a time, which keeps it while it works", async () => {
    fill(110);
    live(11);
    const other = folder.host(() => time);
    const lease = () => storage.db.prepare("SELECT host_id, until FROM leases WHERE name = 'sealing'").raw().get();
    let seen: unknown = null;
    const one = sealing({
      reached: (step) => {
        if (step !== "begun" || seen !== null) return;
        seen = lease();
      },
      sign: async () => {
        expect(await sealing({}, other).run()).toEqual({ segments: 0, entries: 0 });
        // So long that it has to be taken again.
        time += 10_000;
      },
    });
    const begun = time;
    expect(await one.run()).toEqual({ segments: 2, entries: 200 });
    expect(seen).toEqual([storage.hostId, begun + 60_000]);
    expect(lease()).toBeUndefined();
    expect(await sealing({}, other).run()).toEqual({ segments: 0, entries: 0 });
  });

  it("gives up, with a message, when another window took it over meanwhile", async () => {
    fill(110);
    live(11);
    const other = folder.host(() => time);
    const one = sealing({
      sign: () => {
        sql("UPDATE leases SET host_id = ?", other.storage.hostId);
        time += 10_000;
        return Promise.resolve();
      },
    });
    expect(await messageOf(one.run())).toEqual(["conflict", "Another window is sealing old receipts."]);
    expect(segments()).toEqual([]);
    // The other's lease is left alone.
    expect(storage.db.prepare("SELECT count(*) FROM leases").pluck().get()).toBe(1);
  });

  it("does not ask for its place again within ten seconds", async () => {
    fill(110);
    live(11);
    const other = folder.host(() => time);
    const one = sealing({
      sign: () => {
        sql("UPDATE leases SET host_id = ?", other.storage.hostId);
        time += 3_000;
        return Promise.resolve();
      },
    });
    expect(await one.run()).toEqual({ segments: 2, entries: 200 });
  });

  it("is stopped with a message, also when its database is closed", async () => {
    fill(60);
    live(11);
    expect(await messageOf(sealing().run(AbortSignal.abort()))).toEqual(["cancelled", expect.any(String)]);
    expect(segments()).toEqual([]);
    const other = folder.host(() => time);
    const closing = sealing(
      {
        reached: (step) => {
          if (step === "written") other.storage.close();
        },
      },
      other,
    );
    expect(await messageOf(closing.run())).toEqual(["cancelled", expect.any(String)]);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("waits until the table knows of every entry", async () => {
    fill(60);
    live(11);
    let turns = 0;
    const one = sealing({
      advance: (limit) => {
        expect(limit).toBe(250);
        turns += 1;
        if (turns % 3 !== 0) return false;
        ledger.get("brings the table up to date");
        return true;
      },
    });
    expect((await one.run()).segments).toBe(1);
    expect(turns).toBe(6);
  });
});

describe("what is due", () => {
  const run = (more: object, from?: Partial<SealingDeps>) =>
    sealing({ settings: () => RetentionSettings.parse({ keep_days: 10, segment_entries: 100, max_bytes: 0, ...more }), ...from }).run();

  it("is a full file of entries older than the days they are kept, to the millisecond", async () => {
    fill(50);
    const last = time;
    time = last + 10 * day;
    expect(await run({})).toEqual({ segments: 0, entries: 0 });
    time += 1;
    expect(await run({})).toEqual({ segments: 1, entries: 100 });
  });

  it("is no full file while one entry is missing", async () => {
    fill(49);
    ledger.open(opening("open"));
    live(11);
    expect(await run({})).toEqual({ segments: 0, entries: 0 });
  });

  it("is after 30 days more what is there, up to what is young", async () => {
    const first = time + 1_000;
    fill(10);
    time = first + 40 * day;
    fill(10);
    time = first + 40 * day;
    expect(await run({})).toEqual({ segments: 0, entries: 0 });
    time += 1;
    expect(await run({})).toEqual({ segments: 1, entries: 20 });
    expect(segments()).toMatchObject([{ from_seq: 1, to_seq: 20 }]);
  });

  it.each([1, 2, 3, 7, 25])("is found among %i old receipts, one after the other", async (old) => {
    for (let index = 0; index < old; index += 1) {
      fill(1);
      time += 1_000;
    }
    live(41);
    fill(5);
    expect(await run({})).toEqual({ segments: 1, entries: 2 * old });
  });

  it("is no more than fills a file", async () => {
    fill(60);
    live(41);
    expect(await run({})).toEqual({ segments: 2, entries: 120 });
    expect(segments().map(({ to_seq }) => to_seq)).toEqual([100, 120]);
  });

  it("is nothing of an empty ledger", async () => {
    live(100);
    expect(await run({})).toEqual({ segments: 0, entries: 0 });
    expect(await run({ max_bytes: 1 })).toEqual({ segments: 0, entries: 0 });
  });

  it("is whatever its age when the database takes more than it may, counted in pages that are used", async () => {
    fill(110);
    storage.db.exec("VACUUM");
    const used =
      (storage.db.pragma("page_count", { simple: true }) as number) * (storage.db.pragma("page_size", { simple: true }) as number);
    expect(await run({ max_bytes: 2 * used })).toEqual({ segments: 0, entries: 0 });
    expect((await run({ max_bytes: Math.floor(used / 4) })).segments).toBeGreaterThanOrEqual(1);
  });

  it("does not count what is free in the file of the database", async () => {
    fill(110);
    storage.db.exec("CREATE TABLE filler (t TEXT)");
    sql("INSERT INTO filler VALUES (?)", "x".repeat(3_000_000));
    sql("DELETE FROM filler");
    expect(storage.db.pragma("freelist_count", { simple: true })).toBeGreaterThan(500);
    expect(await run({ max_bytes: 1_500_000 })).toEqual({ segments: 0, entries: 0 });
    sql("INSERT INTO filler VALUES (?)", "x".repeat(3_000_000));
    expect((await run({ max_bytes: 1_500_000 })).segments).toBe(2);
  });

  it("is nothing that is young, however much there is, where no limit is set", async () => {
    fill(110);
    expect(await run({ max_bytes: 0 })).toEqual({ segments: 0, entries: 0 });
  });

  it("is a receipt that spans the end of a file too when the database takes too much, whatever its age", async () => {
    const long = ledger.open(opening("long"));
    fill(60);
    ledger.close(long, { status: "success" });
    fill(1);
    expect(await run({ max_bytes: 1 })).toEqual({ segments: 1, entries: 122 });
  });

  it("leaves the last entry in the database when it takes too much", async () => {
    fill(50);
    expect(await run({ max_bytes: 1 })).toEqual({ segments: 0, entries: 0 });
  });
});

describe("a receipt that spans files", () => {
  const run = (more: object = {}) =>
    sealing({ settings: () => RetentionSettings.parse({ keep_days: 10, segment_entries: 100, max_bytes: 0, ...more }) }).run();

  it("is sealed with what is between, in a larger file, when its closing is old enough too", async () => {
    const long = ledger.open(opening("long"));
    fill(60);
    ledger.close(long, { status: "success" });
    fill(1);
    live(11);
    expect(await run()).toEqual({ segments: 1, entries: 122 });
    expect(segments()).toMatchObject([{ from_seq: 1, to_seq: 122 }]);
  });

  it("holds everything back that begins with it while it is open", async () => {
    ledger.open(opening("long"));
    fill(120);
    live(50);
    expect(await run()).toEqual({ segments: 0, entries: 0 });
  });

  it("makes the file before it smaller", async () => {
    fill(30);
    const one = ledger.open(opening("one"));
    fill(5);
    const two = ledger.open(opening("two"));
    fill(20);
    ledger.close(one, { status: "success" });
    fill(20);
    ledger.close(two, { status: "success" });
    live(11);
    expect((await run()).segments).toBeGreaterThanOrEqual(1);
    expect(segments()[0]).toMatchObject({ from_seq: 1, to_seq: 60 });
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("makes it smaller again where another one spans the end it has then", async () => {
    fill(44);
    // Entry 89; it ends after the next one began.
    const one = ledger.open(opening("one"));
    fill(2);
    const two = ledger.open(opening("two"));
    ledger.close(one, { status: "success" });
    fill(10);
    ledger.close(two, { status: "success" });
    live(11);
    expect(await run()).toEqual({ segments: 1, entries: 88 });
  });

  it("and another that spans its end go together", async () => {
    const one = ledger.open(opening("one"));
    fill(55);
    const two = ledger.open(opening("two"));
    ledger.close(one, { status: "success" });
    fill(10);
    ledger.close(two, { status: "success" });
    fill(1);
    live(11);
    expect(await run()).toEqual({ segments: 1, entries: 134 });
  });
});

describe("files that a crash left", () => {
  it("are removed when they are unfinished ones of a sealing, and nothing else is", async () => {
    mkdirSync(path(""));
    const others = ["segment-1-2.jsonl.gz.tmpx", "xsegment-1-2.jsonl.gz.a.tmp", "notes.tmp"];
    for (const name of [...others, "segment-1-2.jsonl.gz.abc.tmp"]) writeFileSync(path(name), "x");
    await sealing().run();
    expect(files()).toEqual(others.toSorted());
  });
});

describe("sealing by itself", () => {
  const spent = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  it("looks after a minute and a half and then every hour, and says what it did", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const logged: string[] = [];
    settings("keep_days: 10\nsegment_entries: 100\n");
    const host = folder.host(() => time, { secrets: keyStore(), log: (message) => logged.push(message) });
    fill(110);
    live(11);
    await spent(89_999);
    expect(segments()).toEqual([]);
    await spent(1);
    await vi.waitFor(() => expect(logged).toEqual(["sealed 200 old ledger entries into 2 files"]));
    expect(segments()).toHaveLength(2);
    const receipts = host.ledger.search({ query: "receipts.seal", limit: 10 }).items;
    expect(receipts.at(-1)).toMatchObject({
      actionType: "system",
      riskTier: "T1",
      inputs: { from: 1, to: 100 },
      status: "success",
      outputs: { file: "segment-1-100.jsonl.gz", sha256: segments()[0]?.sha256, bytes: segments()[0]?.bytes },
    });
    fill(100);
    live(11);
    await spent(3_599_999);
    expect(segments()).toHaveLength(2);
    await spent(1);
    await vi.waitFor(() => expect(segments()).toHaveLength(4));
    await host.ledger.end();
  });

  it("says what keeps it from sealing, and continues when that is gone", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const logged: string[] = [];
    settings("keep_days: 10\nsegment_entries: 100\n");
    const host = folder.host(() => time, { secrets: keyStore(), log: (message) => logged.push(message) });
    fill(60);
    live(11);
    writeFileSync(join(folder.dataDir, "receipts"), "a file in the way");
    await spent(90_000);
    await vi.waitFor(() => expect(logged).toContain("could not seal old ledger entries"));
    expect(host.ledger.degraded()).toBe("Old receipts are not sealed: their file could not be written.");
    expect(host.ledger.search({ query: "receipts.seal", limit: 1 }).items[0]).toMatchObject({
      status: "failure",
      errorMessage: "The sealed file could not be written.",
    });
    rmSync(join(folder.dataDir, "receipts"));
    dropTriggers(storage);
    sql("UPDATE ledger SET kind = 'close' WHERE seq = 15");
    await spent(3_600_000);
    const why = "Entry 15 of the ledger was modified, so it is not sealed. Verify the receipts for details.";
    await vi.waitFor(() => expect(host.ledger.degraded()).toBe(`Old receipts are not sealed: ${why}`));
    expect(host.ledger.search({ query: "receipts.seal", limit: 1 }).items[0]).toMatchObject({ status: "failure", errorMessage: why });
    sql("UPDATE ledger SET kind = 'open' WHERE seq = 15");
    await spent(3_600_000);
    await vi.waitFor(() => expect(segments()).toHaveLength(1));
    await vi.waitFor(() => expect(host.ledger.degraded()).toBeNull());
  });

  it("says nothing where nothing was due, and waits for nothing after its end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const logged: string[] = [];
    const idle = vi.getTimerCount();
    const host = folder.host(() => time, { log: (message) => logged.push(message) });
    expect(vi.getTimerCount()).toBe(idle + 1);
    await spent(90_000);
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(idle + 1));
    expect(logged).toEqual([]);
    await host.ledger.end();
    expect(vi.getTimerCount()).toBe(idle);
    const other = folder.host(() => time);
    expect(vi.getTimerCount()).toBe(idle + 1);
    other.storage.close();
    expect(vi.getTimerCount()).toBe(idle);
  });

  it("is stopped by the end of its host without a word", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const logged: string[] = [];
    settings("keep_days: 10\nsegment_entries: 100\n");
    fill(110);
    live(11);
    const host = folder.host(() => time, { log: (message) => logged.push(message) });
    vi.advanceTimersByTime(90_000);
    await host.ledger.end();
    expect(logged.filter((message) => message.includes("sealed"))).toEqual([]);
    expect(segments()).toEqual([]);
  });

  it("stops with its host, and does not begin again", async () => {
    settings("keep_days: 10\nsegment_entries: 100\n");
    fill(110);
    live(11);
    const running = ledger.seal();
    await ledger.end();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    for (const { status } of ledger.search({ query: "receipts.seal", limit: 5 }).items) expect(status).toBe("cancelled");
    expect(segments()).toEqual([]);
    await expect(ledger.seal()).rejects.toMatchObject({ code: "cancelled" });
  });

  it("is cancelled by who asked for it, with a receipt that says so", async () => {
    settings("keep_days: 10\nsegment_entries: 100\n");
    fill(110);
    live(11);
    const stop = new AbortController();
    ledger.onReceipt(({ actionName }) => {
      if (actionName === "receipts.seal") stop.abort();
    });
    await expect(ledger.seal(stop.signal)).rejects.toMatchObject({ code: "cancelled" });
    expect(ledger.search({ query: "receipts.seal", limit: 5 }).items).toMatchObject([
      { status: "cancelled", errorMessage: expect.any(String) },
    ]);
    expect(await ledger.seal()).toEqual({ segments: 2, entries: 200 });
  });
});

describe("a sealed file", () => {
  const entry = (n: number) => ({ body: `{"seq":${n}}`, hash: String(n).repeat(64).slice(0, 64) });
  async function* some(...pages: ReturnType<typeof entry>[][]) {
    yield* pages;
  }
  const read = async (file: string) => {
    const reader = readSegment(file);
    const all: unknown[] = [];
    for (;;) {
      const step = await reader.next();
      if (step.done === true) return { all, ...step.value };
      all.push(...step.value);
    }
  };

  it("is read as it was written", async () => {
    const file = path(segmentName(1, 3));
    await writeSegment(file, some([entry(1), entry(2)], [entry(3)]));
    const bytes = readFileSync(file);
    expect(await read(file)).toEqual({
      all: [entry(1), entry(2), entry(3)],
      sha256: createHash("sha256").update(bytes).digest("hex"),
      bytes: bytes.length,
    });
    expect(files()).toEqual(["segment-1-3.jsonl.gz"]);
  });

  it("reports a last line that is not whole, and fails where it is no such file", async () => {
    mkdirSync(path(""));
    writeFileSync(path("a"), gzipSync(`{"entry":{},"hash":"${"0".repeat(64)}"}\n{"entry`));
    expect((await read(path("a"))).all).toEqual([{ body: "{}", hash: "0".repeat(64) }, null]);
    writeFileSync(path("b"), "no gzip");
    await expect(read(path("b"))).rejects.toMatchObject({ code: "Z_DATA_ERROR" });
    await expect(read(path("c"))).rejects.toMatchObject({ code: "ENOENT" });
    const text = "{}\n".repeat(50_000) + "ä".repeat(100_000);
    writeFileSync(path("d"), gzipSync(text));
    expect((await read(path("d"))).all).toHaveLength(50_001);
  });

  it("that is there already is replaced whole, and one that fails leaves nothing", async () => {
    const file = path(segmentName(1, 2));
    await writeSegment(file, some([entry(1)]));
    await writeSegment(file, some([entry(2)]));
    expect((await read(file)).all).toEqual([entry(2)]);
    const broken = async function* () {
      yield [entry(3)];
      throw new Error("stop");
    };
    await expect(writeSegment(file, broken())).rejects.toThrow("stop");
    expect((await read(file)).all).toEqual([entry(2)]);
    expect(files()).toEqual(["segment-1-2.jsonl.gz"]);
  });

  it("has its folder written through to the disk, where there is one", async () => {
    mkdirSync(path(""));
    await syncFolder(path(""));
    await expect(syncFolder(path("nowhere"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("a receipt in a sealed file", () => {
  async function sealed(): Promise<string[]> {
    settings("keep_days: 10\nsegment_entries: 100\n");
    const ids = fill(110);
    live(11);
    await ledger.seal();
    return ids;
  }

  it("is told with the hash before it, at the beginning of a file too", async () => {
    const ids = await sealed();
    const first = await ledger.find(ids[50] ?? "");
    expect(first?.metadata["sealed"]).toBe("segment-101-200.jsonl.gz");
    const second = lines("segment-101-200.jsonl.gz").map(
      (line) => JSON.parse(line) as { entry: { id: string; kind: string }; hash: string },
    );
    const closing = second.findIndex(({ entry }) => entry.id === ids[50] && entry.kind === "close");
    expect([first?.prevHash, first?.hash]).toEqual([second[closing - 1]?.hash, second[closing]?.hash]);
  });

  it("is not another one that names it, nor one of another time", async () => {
    settings("keep_days: 10\nsegment_entries: 100\n");
    const [id = ""] = fill(1);
    const naming = ledger.record(opening("naming", { inputs: { id } }), { status: "success", outputs: { id } });
    fill(60);
    live(11);
    await ledger.seal();
    expect(await ledger.find(naming)).toMatchObject({ actionName: "naming", inputs: { id } });
    expect(await ledger.find(id)).toMatchObject({ actionName: "action 0" });
    const digits = id.slice(0, 14);
    expect(await ledger.find(`${digits}7000-8000-000000000000`.slice(0, 36))).toBeNull();
    expect(await ledger.find(`x${id}`)).toBeNull();
    expect(await ledger.find(id.replace("-7", "-4"))).toBeNull();
  });

  it("is not one that named it before it was written itself", async () => {
    settings("keep_days: 10\nsegment_entries: 100\n");
    expect(ledger.search({ limit: 1 }).sealed).toBeUndefined();
    const id = ledger.record(opening("named"), { status: "success" });
    const other = folder.host(() => time).ledger;
    other.close(other.open(opening("naming", { inputs: { id } })), { status: "failure", outputs: { id } });
    ledger.flush();
    fill(60);
    live(11);
    await ledger.seal();
    expect(await ledger.find(id)).toMatchObject({ actionName: "named", status: "success" });
  });

  it("is not found where its file is gone or damaged, which verification tells", async () => {
    const ids = await sealed();
    appendFileSync(path("segment-101-200.jsonl.gz"), "x");
    writeFileSync(path("segment-1-100.jsonl.gz"), readFileSync(path("segment-1-100.jsonl.gz")).subarray(0, 60));
    expect(await ledger.find(ids[3] ?? "")).toBeNull();
    rmSync(path("segment-1-100.jsonl.gz"));
    expect(await ledger.find(ids[3] ?? "")).toBeNull();
    expect((await ledger.verify()).ok).toBe(false);
  });

  it("is reported by a search that reaches back to its time, to the millisecond", async () => {
    const ids = await sealed();
    const until = (await ledger.find(ids[99] ?? ""))?.timestamp ?? "";
    expect(ledger.search({ limit: 50, from: until }).sealed).toEqual({ entries: 200, until });
    const later = new Date(Date.parse(until) + 1).toISOString();
    expect(ledger.search({ limit: 50, from: later }).sealed).toBeUndefined();
    expect(ledger.search({ limit: 50, to: until }).sealed).toEqual({ entries: 200, until });
  });
});
