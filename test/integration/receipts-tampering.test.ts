// @module-tag serial
import { afterAll, beforeAll, expect, it } from "vitest";
import { canonicalJson, hashEntry } from "../../agent-server/receipts/entry.ts";
import type { Ledger } from "../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { dropTriggers, insertRow, LedgerFolder, opening, removeAndCloseUp, rows, swapRows } from "../support/receipts/ledger-folder.ts";
import { processorMs } from "../support/processor-time.ts";
import { soak } from "../support/soak.ts";

const entries = 100_000;
let folder: LedgerFolder;
let storage: Storage;
let ledger: Ledger;

beforeAll(() => {
  folder = new LedgerFolder();
  ({ storage, ledger } = folder.host());
  storage.transaction(() => {
    for (let index = 0; index < entries / 2; index += 1) {
      ledger.record(opening("read_file", { riskTier: "T0", inputs: { path: `src/file-${index}.ts`, limit: 200 } }), {
        status: "success",
        outputs: { lines: index, preview: "export function add(a: number, b: number) {\n  return a + b;\n}\n".repeat(4) },
      });
    }
    ledger.flush();
  });
  dropTriggers(storage);
});
afterAll(() => folder.remove());

it("100,000 entries are checked in a few seconds, in slices that leave the host responsive", async () => {
  let longest = 0;
  let running = true;
  let last = processorMs();
  const beat = () => {
    const now = processorMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(beat);
  };
  setImmediate(beat);
  const start = processorMs();
  const verification = await ledger.verify();
  const took = processorMs() - start;
  running = false;
  expect(verification).toMatchObject({ ok: true, entries });
  expect(took).toBeLessThan(10_000);
  expect(longest).toBeLessThan(500);
});

const row = (seq: number) => {
  const found = storage.db.prepare<[number], ReturnType<typeof rows>[number]>("SELECT * FROM ledger WHERE seq = ?").get(seq);
  if (found === undefined) throw new Error(`No entry ${seq}.`);
  return found;
};
const run = (sql: string) => storage.db.prepare(sql).run();

it.each<[what: string, seq: number, problem: string, tamper: () => void]>([
  ["a changed byte", 61_234, "changed", () => run("UPDATE ledger SET body = replace(body, '\"v\":1', '\"v\":2') WHERE seq = 61234")],
  [
    "a changed entry with a fresh hash",
    50_001,
    "changed",
    () => {
      const { body, prev_hash } = row(50_001);
      const changed = body.replace("read_file", "read_fire");
      storage.db.prepare("UPDATE ledger SET body = ?, hash = ? WHERE seq = 50001").run(changed, hashEntry(prev_hash, changed));
    },
  ],
  ["a removed entry", 40_000, "removed", () => run("DELETE FROM ledger WHERE seq = 40000")],
  ["a removed entry, the gap closed", 99_000, "removed", () => removeAndCloseUp(storage, 99_000)],
  [
    "an inserted entry",
    77_777,
    "inserted",
    () => {
      const before = row(77_776).hash;
      const body = canonicalJson({ ...(JSON.parse(row(1).body) as object), seq: 77_777 });
      insertRow(storage, { ...row(1), seq: 77_777, body, prev_hash: before, hash: hashEntry(before, body) });
    },
  ],
  ["swapped entries", 12_345, "reordered", () => swapRows(storage, 12_345, 88_888)],
  ["swapped neighbours", 99_999, "reordered", () => swapRows(storage, 99_999, 100_000)],
  ["a cut tail", 99_001, "removed", () => run("DELETE FROM ledger WHERE seq > 99000")],
  ["one missing at the end", 100_000, "removed", () => run("DELETE FROM ledger WHERE seq = 100000")],
])("in 100,000 entries %s is found, at entry %i", async (_, seq, problem, tamper) => {
  // A transaction of its own that is undone: the next case starts from the whole ledger.
  storage.db.exec("BEGIN");
  try {
    tamper();
    expect(await ledger.verify()).toMatchObject({ ok: false, entries: expect.any(Number) as number, firstBad: { seq, problem } });
  } finally {
    storage.db.exec("ROLLBACK");
  }
  // A ledger that is not whole again fails the next case too, and the last test.
  if (soak) expect((await ledger.verify()).ok).toBe(true);
});

it("the ledger is whole after all of that", async () => expect(await ledger.verify()).toMatchObject({ ok: true, entries }));
