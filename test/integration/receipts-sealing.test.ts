import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { SealStep } from "../../agent-server/receipts/sealing.ts";
import { LedgerFolder, opening, rows } from "../support/receipts/ledger-folder.ts";
import { moments, runs } from "../support/soak.ts";

const sealer = fileURLToPath(new URL("../support/receipts/sealer.ts", import.meta.url));
const year = 365 * 86_400_000;
let filled: LedgerFolder;
/** The receipts of a year ago. */
let ids: readonly string[];
let folder: LedgerFolder;

/** 1,000 receipts of a year ago (2,000 entries: three files of 600 and what is left over), ten of today. */
beforeAll(() => {
  filled = new LedgerFolder();
  let time = Date.now() - year;
  const { ledger, storage } = filled.host(() => time);
  ids = Array.from({ length: 1_000 }, (_, index) => {
    time += 1_000;
    return ledger.record(opening(`old ${index}`, { questId: `q${Math.floor(index / 10)}` }), { status: "success", outputs: { index } });
  });
  ledger.flush();
  time = Date.now();
  for (let index = 0; index < 10; index += 1) ledger.record(opening(`new ${index}`), { status: "success" });
  ledger.flush();
  storage.close();
});
afterAll(() => filled.remove());
beforeEach(() => {
  folder = new LedgerFolder();
  cpSync(filled.dataDir, folder.dataDir, { recursive: true });
});
afterEach(() => folder.remove());

async function runSealer(step: string, passes: number, killAfter?: number): Promise<NodeJS.Signals | number> {
  const child = spawn(process.execPath, ["--no-warnings", sealer, folder.dataDir, step, String(passes)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  if (killAfter !== undefined) {
    await delay(killAfter);
    child.kill("SIGKILL");
  }
  const [code, signal] = await ended;
  return signal ?? code ?? -1;
}

/** Verifies, and finds old receipts in the database or in a file. */
async function expectWhole(): Promise<void> {
  const { ledger, storage } = folder.host();
  try {
    expect((await ledger.verify()).firstBad).toBeUndefined();
    const looked = ids.filter((_, index) => index % 97 === 0);
    for (const id of looked) expect(await ledger.find(id)).toMatchObject({ id, status: "success" });
    const { file } = await ledger.export({ format: "ledger" });
    expect(statSync(join(folder.dataDir, "exports", file)).size).toBeGreaterThan(100_000);
  } finally {
    storage.close();
  }
}

it.each<[SealStep, passes: number]>([
  ["begun", 0],
  ["written", 0],
  ["checked", 0],
  ["recorded", 0],
  ["removing", 0],
  ["removing", 1],
  ["removed", 1],
  ["begun", 1],
  ["written", 1],
  ["recorded", 2],
  ["removing", 4],
])(
  "a host killed after the step '%s' (passed %i times before) leaves a ledger that verifies, and the next one continues",
  async (step, passes) => {
    expect(await runSealer(step, passes)).toBe("SIGKILL");
    await expectWhole();
    expect(await runSealer("none", 0)).toBe(0);
    await expectWhole();
    const { ledger, storage } = folder.host();
    const result = await ledger.verify();
    expect(result).toMatchObject({ ok: true, segments: { count: 4, entries: 2_000 } });
    expect(rows(storage)[0]?.seq).toBe(2_001);
    expect(readdirSync(join(folder.dataDir, "receipts")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  },
);

it("hosts killed at any moment, one after another, lose nothing and seal it all in the end", async () => {
  for (const moment of moments(runs(4, 20))) await runSealer("none", 0, 80 + moment * 250);
  await expectWhole();
  expect(await runSealer("none", 0)).toBe(0);
  await expectWhole();
  expect((await folder.host().ledger.verify()).segments).toEqual({ count: 4, entries: 2_000 });
});

it("two hosts that seal at once do it once, while a third one writes", async () => {
  const writer = folder.host();
  const writing = new AbortController();
  const write = async () => {
    for (let index = 0; !writing.signal.aborted; index += 1) {
      writer.ledger.close(writer.ledger.open(opening(`meanwhile ${index}`)), { status: "success" });
      await delay(2);
    }
  };
  const written = write();
  const ends = await Promise.all([runSealer("none", 0), runSealer("none", 0)]);
  writing.abort();
  await written;
  expect(ends).toEqual([0, 0]);
  await expectWhole();
  expect((await writer.ledger.verify()).segments).toEqual({ count: 4, entries: 2_000 });
});
