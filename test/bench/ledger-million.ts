/**
 * `node test/bench/ledger-million.ts [receipts]`: the ledger with a million receipts (two million entries). How fast they are
 * written, projected, indexed and verified, how long searches and traces take (p50 and p95 of 60 each), and the size of the file.
 * Takes minutes, so `npm run bench` leaves it out.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { actionTypesOfActions } from "../../agent-server/contract/receipts.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import { openStorage } from "../../agent-server/storage/storage.ts";

const receipts = Number(process.argv[2] ?? 1_000_000);
const perQuest = 100;
const started = Date.UTC(2026, 0, 1);
const timesEach = 60;

const types = ["tool_call", "tool_call", "tool_call", "llm_call", "file_op", "plan_step", "verification"] as const;
const names = ["read_file", "search_text", "list_files", "claude-answer", "edit_file", "step", "hash"] as const;
const uuid = (number: number): string => `01a1fa9b-9862-7979-a895-${number.toString(16).padStart(12, "0")}`;
const questOf = (index: number): string => uuid(Math.floor(index / perQuest));

interface Row {
  name: string;
  value: string;
}

/** Receipts that are written between two turns of the bare database, so that both meet the disk in the same state. */
const turn = 20_000;
/** Nine T0 receipts share the transaction of the T1 receipt's opening; its closing has one of its own. */
const durableEvery = 10;

/** Writes them as quests do: a root of its own each, mostly batched reads, every tenth durable; one in 5,000 fails. */
function writeSome(ledger: Ledger, from: number, to: number, clock: { at: number }, roots: string[]): void {
  for (let index = from; index < to; index += 1) {
    clock.at = started + index * 900;
    const kind = index % types.length;
    const first = index % perQuest === 0;
    const opening = {
      actionType: types[kind] ?? "tool_call",
      actionName: names[kind] ?? "read_file",
      inputs: {
        path: `packages/editor/src/components/panel-${index % 5_000}.tsx`,
        offset: 0,
        limit: 200,
        ...(index % 50_000 === 7 ? { note: "zyzzyva" } : {}),
      },
      riskTier: index % durableEvery === durableEvery - 1 ? ("T1" as const) : ("T0" as const),
      questId: questOf(index),
      parentId: first ? null : (roots.at(-1) ?? null),
    };
    const failed = index % 5_000 === 4_999;
    const closing = {
      status: failed ? ("failure" as const) : ("success" as const),
      outputs: {
        lines: 200,
        bytes: index,
        truncated: false,
        preview: "export function add(a: number, b: number): number {\n  return a + b;\n}\n",
      },
      ...(failed ? { errorMessage: "The text to replace was not found." } : {}),
    };
    if (opening.riskTier === "T1") ledger.close(ledger.open(opening), closing);
    else {
      const id = ledger.record(opening, closing);
      if (first) roots.push(id);
    }
  }
}

/** A bare database with the table of the ledger, and the same durability. */
function openBare(source: Database.Database, file: string) {
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec(source.prepare<[], string>("SELECT sql FROM sqlite_schema WHERE name = 'ledger'").pluck().get() ?? "");
  const insert = db.prepare("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)");
  const insertAll = db.transaction((rows: unknown[][]) => {
    for (const row of rows) insert.run(...row);
  });
  const page = source.prepare<[number], unknown[]>("SELECT * FROM ledger WHERE seq > ? ORDER BY seq").raw();
  const entries = durableEvery * 2;
  return {
    /** Writes the rows after `after` in the transactions in which ours were written; returns the milliseconds. */
    writeAfter: (after: number): number => {
      const rows = page.all(after);
      const start = performance.now();
      for (let at = 0; at < rows.length; at += entries) {
        insertAll.immediate(rows.slice(at, at + entries - 1));
        insertAll.immediate(rows.slice(at + entries - 1, at + entries));
      }
      return performance.now() - start;
    },
    close: () => void db.close(),
  };
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

function measure(name: string, work: (turn: number) => unknown[] | { length: number }): Row {
  const times: number[] = [];
  let found = 0;
  for (let turn = 0; turn < timesEach; turn += 1) {
    const start = performance.now();
    found = work(turn).length;
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { name, value: `p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms (${found} found)` };
}

function searches(ledger: Ledger): Row[] {
  const day = (number: number): string => new Date(started + number * 86_400_000).toISOString();
  const find = (name: string, filter: (turn: number) => Omit<Parameters<Ledger["search"]>[0], "limit">): Row =>
    measure(`search: ${name}`, (turn) => ledger.search({ limit: 100, ...filter(turn) }).items);
  const middle = String(receipts);
  return [
    find("nothing asked", () => ({})),
    find("a rare word", () => ({ query: "zyzzyva" })),
    find("a common word", () => ({ query: "packages" })),
    find("the beginning of a common word", () => ({ query: "comp" })),
    find("one letter", () => ({ query: "p" })),
    find("several words and beginnings", (turn) => ({ query: `read edit src panel-${turn * 7}` })),
    find("a path", (turn) => ({ query: `components/panel-${turn * 31}.tsx` })),
    find("a number that is in few", (turn) => ({ query: String(100_000 + turn * 13) })),
    find("a word that is nowhere", () => ({ query: "nowhere" })),
    find("a common word, far down the list", () => ({ query: "packages", cursor: middle })),
    find("failures", () => ({ status: "failure" })),
    find("a common word in failures", () => ({ status: "failure", query: "components" })),
    find("a tier that is nowhere", () => ({ tier: "T3" })),
    find("the beginning of a common word in a tier that is nowhere", () => ({ tier: "T3", query: "comp" })),
    find("the beginning of a common word in failures", () => ({ status: "failure", query: "comp" })),
    find("what is pending", () => ({ status: "pending" })),
    find("actions", () => ({ actionTypes: [...actionTypesOfActions] })),
    find("a type and a tier", () => ({ actionType: "llm_call", tier: "T1" })),
    find("a quest", (turn) => ({ questId: questOf(turn * 10_007) })),
    find("a word in a quest", (turn) => ({ questId: questOf(turn * 10_007), query: "packages" })),
    find("failures in a quest", (turn) => ({ questId: questOf(turn * 10_007), status: "failure" })),
    find("a day", (turn) => ({ from: day(turn % 10), to: day((turn % 10) + 1) })),
    find("before a day, a word", () => ({ to: day(1), query: "panel" })),
    find("a time with nothing in it", () => ({ from: day(-9), to: day(-8) })),
  ];
}

const folder = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "lancelot-million-"));
const clock = { at: started };
const storage = openStorage({ dataDir: join(folder, "data"), migrations: receiptsMigrations });
const ledger = createLedger({ storage, redactor: createRedactor(), now: () => clock.at });
const table: Row[] = [];
const say = (row: Row): void => {
  table.push(row);
  process.stderr.write(`${row.name}: ${row.value}\n`);
};
const perSecond = (count: number, ms: number): string =>
  `${Math.round((count / ms) * 1_000).toLocaleString("en")} /s (${(ms / 1_000).toFixed(1)} s)`;
const timed = <T>(work: () => T): [T, number] => {
  const start = performance.now();
  return [work(), performance.now() - start];
};

try {
  const file = join(folder, "data", "lancelot.sqlite");
  const ids: string[] = [];
  const bareDb = openBare(storage.db, join(folder, "bare.sqlite"));
  const ratios: number[] = [];
  let wrote = 0;
  let bare = 0;
  for (let from = 0; from < receipts; from += turn) {
    const to = Math.min(from + turn, receipts);
    const [, ours] = timed(() => {
      writeSome(ledger, from, to, clock, ids);
      ledger.flush();
    });
    const theirs = bareDb.writeAfter(from * 2);
    ratios.push(theirs / ours);
    wrote += ours;
    bare += theirs;
  }
  bareDb.close();
  ratios.sort((a, b) => a - b);
  say({ name: "written, receipts", value: perSecond(receipts, wrote) });
  say({ name: "the same rows, bare SQLite", value: perSecond(receipts, bare) });
  say({
    name: "ours of bare",
    value: `${(bare / wrote).toFixed(2)} in all; ${percentile(ratios, 0.5).toFixed(2)} in the median of ${ratios.length} turns`,
  });
  const ledgerBytes = statSync(file).size;
  rmSync(join(folder, "bare.sqlite"), { force: true });
  const [, projected] = timed(() => ledger.get("settles the table"));
  say({ name: "taken into the table that is searched, receipts", value: perSecond(receipts, projected) });
  const [, indexed] = timed(() => ledger.search({ query: "settles", limit: 1 }));
  say({ name: "indexed, receipts", value: perSecond(receipts, indexed) });
  storage.db.pragma("wal_checkpoint(TRUNCATE)");
  say({
    name: "size",
    value: `${Math.round(ledgerBytes / 1e6)} MB of ledger, ${Math.round(statSync(file).size / 1e6)} MB with everything derived`,
  });
  for (const row of searches(ledger)) say(row);
  say(measure("trace: a quest", (turn) => ledger.trace({ questId: questOf(turn * 10_007) })));
  say(measure("trace: from a receipt", (turn) => ledger.trace({ id: ids[turn % ids.length] ?? "" })));
  say(measure("one receipt", (turn) => [ledger.get(ids[turn % ids.length] ?? "")].filter((receipt) => receipt !== null)));
  const start = performance.now();
  const result = await ledger.verify();
  if (!result.ok) throw new Error(`The ledger does not verify: ${result.firstBad?.message}`);
  say({ name: "verified, entries", value: perSecond(result.entries, performance.now() - start) });
  console.table(table);
} finally {
  storage.close();
  rmSync(folder, { recursive: true, force: true });
}
