import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { hashEntry } from "../../../agent-server/receipts/entry.ts";
import { receiptsHandlers } from "../../../agent-server/receipts/handlers.ts";
import { type Ledger, verifyExport } from "../../../agent-server/receipts/receipts.ts";
import { keyStore, LedgerFolder, opening } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let ledger: Ledger;
let time: number;

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 10, 21, 12);
  ({ ledger } = folder.host(() => time, { secrets: keyStore() }));
});
afterEach(() => folder.remove());

async function fill(): Promise<void> {
  for (let part = 0; part < 3; part += 1) {
    for (let index = 0; index < 5; index += 1) {
      time += 1_000;
      ledger.record(
        opening(`action ${part}-${index}`, { questId: `q${part}`, inputs: { text: 'quotes " and \n lines, ä, 🙂, {"entry":1}' } }),
        {
          status: "success",
        },
      );
    }
    await ledger.sign();
  }
}
const path = (file: string) => join(folder.dataDir, "exports", file);
const lines = (file: string) => readFileSync(path(file), "utf8").trimEnd().split("\n");

describe("an exported ledger", () => {
  it("verifies with nothing but the file, and reports what it found", async () => {
    await fill();
    const made = await ledger.export({ format: "ledger" });
    const text = readFileSync(path(made.file));
    expect(made).toMatchObject({ entries: 30, bytes: text.length, sha256: createHash("sha256").update(text).digest("hex") });
    expect(made.file).toMatch(/^ledger-20261121T1200\d\dZ-[0-9a-f]{6}\.jsonl$/);
    const live = await ledger.verify();
    expect(await verifyExport(path(made.file))).toEqual({
      ok: true,
      entries: 30,
      head: live.head,
      signed: live.signed,
      segments: { count: 0, entries: 0 },
      ledger: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      exportedAt: new Date(time).toISOString(),
      keyIds: [live.signed?.keyId],
    });
    if (process.platform !== "win32") expect(statSync(path(made.file)).mode & 0o777).toBe(0o600);
  });

  it("is JSON lines that any reader can take: each hash is that of the hash before and the canonical entry", async () => {
    await fill();
    const { file } = await ledger.export({ format: "ledger" });
    let previous = "0".repeat(64);
    let entries = 0;
    for (const line of lines(file)) {
      const { entry, hash } = JSON.parse(line) as { entry?: object; hash?: string };
      if (entry === undefined) continue;
      previous = hashEntry(previous, JSON.stringify(entry));
      expect(previous).toBe(hash);
      entries += 1;
    }
    expect(entries).toBe(30);
  });

  it("is signed at its end although the cadence had not come", async () => {
    ledger.record(opening(), { status: "success" });
    const { file } = await ledger.export({ format: "ledger" });
    expect((await verifyExport(path(file))).signed?.seq).toBe(2);
  });

  it("of an empty ledger, or without a key store, verifies too", async () => {
    const empty = await ledger.export({ format: "ledger" });
    expect(await verifyExport(path(empty.file))).toMatchObject({ ok: true, entries: 0, head: null, signed: null });
    folder.remove();
    folder = new LedgerFolder();
    const other = folder.host(() => time).ledger;
    other.record(opening(), { status: "success" });
    const { file } = await other.export({ format: "ledger" });
    expect(await verifyExport(path(file))).toMatchObject({ ok: true, entries: 2, signed: null, keyIds: [] });
  });

  it("counts the signatures of a given key only", async () => {
    await fill();
    const { file } = await ledger.export({ format: "ledger" });
    const { keyIds } = await verifyExport(path(file));
    expect(await verifyExport(path(file), { keyId: keyIds[0] })).toMatchObject({ ok: true });
    expect((await verifyExport(path(file), { keyId: "0123456789abcdef" })).firstBad).toMatchObject({ seq: 10, problem: "signature" });
  });

  it("holds a receipt after its rotation of keys and verifies with both keys", async () => {
    await fill();
    await ledger.rotateKey();
    const { file } = await ledger.export({ format: "ledger" });
    const result = await verifyExport(path(file));
    expect(result).toMatchObject({ ok: true });
    expect(result.keyIds).toHaveLength(2);
  });

  type Edit = (lines: string[]) => void;
  const rehash: Edit = (all) => {
    let previous = "0".repeat(64);
    for (const [index, line] of all.entries()) {
      const { entry } = JSON.parse(line) as { entry?: object };
      if (entry === undefined) continue;
      previous = hashEntry(previous, JSON.stringify(entry));
      all[index] = JSON.stringify({ entry, hash: previous });
    }
    const end = JSON.parse(all.at(-1) ?? "") as { end: { head: string } };
    end.end.head = previous;
    all[all.length - 1] = JSON.stringify(end);
  };
  const entryAt = (all: string[], seq: number) => all.findIndex((line) => line.includes(`"seq":${seq},`) && line.startsWith('{"entry"'));
  // Header, ten entries and a signature three times, end.
  it.each<[what: string, edit: Edit, seq: number, problem: string]>([
    ["a changed entry", (all) => (all[7] = all[7]?.replace("read", "seen").replace("action", "acting") ?? ""), 7, "changed"],
    [
      "a changed entry with fresh hashes everywhere",
      (all) => {
        all[7] = all[7]?.replace("action", "acting") ?? "";
        rehash(all);
      },
      10,
      "signature",
    ],
    ["a removed entry", (all) => all.splice(entryAt(all, 7), 1), 7, "removed"],
    ["the last entry removed", (all) => all.splice(entryAt(all, 30), 1), 30, "removed"],
    ["an entry twice", (all) => all.splice(8, 0, all[7] ?? ""), 8, "changed"],
    ["a line that is nothing", (all) => all.splice(8, 0, "{}"), 8, "changed"],
    ["a cut line", (all) => (all[8] = all[8]?.slice(0, -9) ?? ""), 8, "changed"],
    ["a cut end", (all) => all.splice(-1), 31, "removed"],
    [
      "a signature removed",
      (all) =>
        all.splice(
          all.findIndex((line) => line.startsWith('{"signature"')),
          1,
        ),
      31,
      "signature",
    ],
    ["a signature moved", (all) => all.splice(13, 0, ...all.splice(11, 1)), 10, "signature"],
    ["a signature changed", (all) => (all[11] = all[11]?.replace(/"at":\d+/, '"at":5') ?? ""), 10, "signature"],
    ["the key exchanged for nothing", (all) => (all[0] = all[0]?.replace(/"keyId":"./, '"keyId":"x') ?? ""), 10, "signature"],
    ["something after the end", (all) => all.push("{}"), 31, "inserted"],
    [
      "entries after the end was cut and the count turned back",
      (all) => {
        all[all.length - 1] = all.at(-1)?.replace('"entries":30', '"entries":29') ?? "";
      },
      30,
      "inserted",
    ],
    ["another head", (all) => (all[all.length - 1] = all.at(-1)?.replace(/"head":"./, '"head":"x') ?? ""), 30, "changed"],
  ])("with %s is found out", async (_, edit, seq, problem) => {
    await fill();
    const { file } = await ledger.export({ format: "ledger" });
    const all = lines(file);
    edit(all);
    writeFileSync(path(file), `${all.join("\n")}\n`);
    const result = await verifyExport(path(file));
    expect(result.ok).toBe(false);
    expect(result.firstBad).toMatchObject({ seq, problem });
  });

  it("with any one byte changed is found out, or refused as no export", async () => {
    await fill();
    const { file } = await ledger.export({ format: "ledger" });
    const good = readFileSync(path(file));
    // The time of the export is told, not vouched for; so is what had been sealed.
    const header = good.indexOf("\n");
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: header + 1, max: good.length - 2 }), fc.integer({ min: 0, max: 6 }), async (at, bit) => {
        const changed = Buffer.from(good);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        writeFileSync(path(file), changed);
        expect((await verifyExport(path(file))).ok).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ["nothing", "", /empty/],
    ["other JSON", '{"a":1}\n', /not a ledger export/],
    ["no JSON", "hello\n", /not a ledger export/],
  ])("is told from %s", async (_, text, message) => {
    writeFileSync(join(folder.dataDir, "x"), text);
    await expect(verifyExport(join(folder.dataDir, "x"))).rejects.toThrow(message);
    await expect(verifyExport(join(folder.dataDir, "y"))).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("exported receipts", () => {
  it.each([
    ["all", {}, 15],
    ["of a quest", { questId: "q1" }, 5],
    ["from a time", { from: "2026-11-21T12:00:11.000Z" }, 5],
    ["between two times", { from: "2026-11-21T12:00:03.000Z", to: "2026-11-21T12:00:06.000Z" }, 4],
  ])("%s are those a search finds", async (_, filter, count) => {
    await fill();
    const made = await ledger.export({ format: "receipts", ...filter });
    expect(made.entries).toBe(count);
    const [header, ...rest] = lines(made.file).map((line) => JSON.parse(line) as Receipt & { lancelot?: string });
    expect(header?.lancelot).toBe("receipts");
    expect(rest).toEqual(ledger.search({ limit: 500, ...filter }).items);
  });

  it("of a filtered chain are refused, because they could not be verified", async () => {
    await expect(ledger.export({ format: "ledger", questId: "q1" })).rejects.toMatchObject({ code: "invalid_params" });
  });
});

describe("the method receipts.export", () => {
  const call = (signal = new AbortController().signal) => ({ owner: true, signal });

  it("leaves a receipt and a file that verifies with it", async () => {
    await fill();
    const made = await receiptsHandlers({ ledger, emit: () => undefined })["receipts.export"]({ format: "ledger" }, call());
    expect(await verifyExport(path(made.file))).toMatchObject({ ok: true, entries: 31 });
    expect(ledger.search({ limit: 1 }).items[0]).toMatchObject({
      actionName: "receipts.export",
      status: "success",
      inputs: { format: "ledger" },
    });
  });

  it("leaves no file when it is stopped", async () => {
    for (let index = 0; index < 3_000; index += 1) ledger.record(opening(), { status: "success" });
    const stop = new AbortController();
    const running = receiptsHandlers({ ledger, emit: () => undefined })["receipts.export"]({ format: "ledger" }, call(stop.signal));
    setImmediate(() => stop.abort());
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(existsSync(path("")) ? readdirSync(path("")) : []).toEqual([]);
    expect(ledger.search({ limit: 1 }).items[0]).toMatchObject({ actionName: "receipts.export", status: "cancelled" });
  });

  it("a message says what is wrong with the folder", async () => {
    writeFileSync(join(folder.dataDir, "exports"), "a file in the way");
    await expect(ledger.export({ format: "receipts" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("exports") as string,
    });
  });
});

describe("the method receipts.verify", () => {
  it("reports how far it is, and its end", async () => {
    for (let index = 0; index < 15_000; index += 1) ledger.record(opening(), { status: "success" });
    const reported: unknown[] = [];
    let clock = 0;
    const handlers = receiptsHandlers({ ledger, emit: (topic, payload) => reported.push([topic, payload]), now: () => (clock += 100) });
    expect(await handlers["receipts.verify"]({}, { owner: false, signal: new AbortController().signal })).toMatchObject({ ok: true });
    expect(reported).toEqual([
      ["verifying", { done: 20_000, total: 30_000 }],
      ["verifying", { done: 30_000, total: 30_000 }],
    ]);
  });
});
