import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CloseEntry, OpenEntry, readEntry } from "../../agent-server/receipts/entry.ts";
import { LedgerFolder, rows } from "../support/receipts/ledger-folder.ts";
import { moments, runs } from "../support/soak.ts";

const writer = fileURLToPath(new URL("../support/receipts/writer.ts", import.meta.url));
let folder: LedgerFolder;

beforeEach(() => {
  folder = new LedgerFolder();
});
afterEach(() => folder.remove());

/** A writing process, what it has said so far, and its end. */
function startWriter(count: number) {
  const child = spawn(process.execPath, ["--no-warnings", writer, folder.dataDir, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  const ready = Promise.withResolvers<void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.startsWith("ready\n")) ready.resolve();
  });
  const ended = once(child, "close").then(([code]) => {
    ready.reject(new Error(`The writer ended with ${code} before it was ready.`));
    return code as number | null;
  });
  // Complete lines only: the last may be cut by the kill.
  const said = () => output.split("\n").slice(1, -1);
  /** Resolves when it has said so many lines. */
  const saidLines = async (count: number): Promise<void> => {
    while (said().length < count && child.exitCode === null) await once(child.stdout, "data");
  };
  return { child, ready: ready.promise, ended, said, saidLines };
}

it("two processes that append at once make one whole chain, in which each finds its own receipts", async () => {
  const { ledger, storage } = folder.host();
  const count = runs(300, 1_000);
  /** True when both really wrote at the same time: each began before the other had ended. */
  async function pair(before: number): Promise<boolean> {
    const writers = [startWriter(count), startWriter(count)];
    await Promise.all(writers.map(({ ready }) => ready));
    for (const { child } of writers) child.stdin.write("go\n");
    for (const { ended } of writers) expect(await ended).toBe(0);
    expect(await ledger.verify()).toMatchObject({ ok: true });
    for (const { said } of writers) {
      const lines = said();
      const closed = new Set(lines.filter((line) => line.startsWith("close ")).map((line) => line.slice(6)));
      const opened = lines.filter((line) => line.startsWith("open ")).map((line) => line.slice(5));
      expect(opened).toHaveLength(count);
      for (const id of opened) expect(ledger.get(id)?.status).toBe(closed.has(id) ? "success" : "pending");
    }
    const hosts = rows(storage)
      .flatMap((row) => (row.kind === "open" ? [readEntry(OpenEntry, row.body)?.host] : []))
      .slice(before * 4 * count);
    expect(hosts).toHaveLength(4 * count);
    const both = [...new Set(hosts)];
    expect(both).toHaveLength(2);
    return both.every((host) => hosts.indexOf(host) < hosts.lastIndexOf(both.find((other) => other !== host)));
  }
  // A busy machine may let one end before the other begins; that pair showed nothing.
  let overlapped = false;
  for (let before = 0; before < 5 && !overlapped; before += 1) overlapped = await pair(before);
  expect(overlapped).toBe(true);
});

it("a host killed many times, at any moment, leaves a ledger that is whole, and nothing open", async () => {
  const { ledger, storage } = folder.host();
  const kills = runs(10, 200);
  const left = moments(kills);
  const said: string[] = [];

  // Two at a time: a kill also falls into the other's transactions.
  const killOnce = async (): Promise<void> => {
    const host = startWriter(0);
    await host.ready;
    host.child.stdin.write("go\n");
    // Before the first append, or after up to a hundred, by what is done and not by the clock: a busy machine is slow.
    await host.saidLines(Math.floor((left.pop() ?? 0) * 100));
    host.child.kill("SIGKILL");
    await host.ended;
    said.push(...host.said());
  };
  for (let killed = 0; killed < kills; killed += 2) {
    await Promise.all(Array.from({ length: 2 }, killOnce));
    // Now and then as a restarted host would, with others just killed.
    if (killed % 40 === 0) {
      ledger.reconcile();
      expect((await ledger.verify()).firstBad).toBeUndefined();
    }
  }

  const entries = rows(storage);
  expect(await ledger.verify()).toMatchObject({ ok: true, entries: entries.length });
  expect(entries.every(({ kind, body }) => (kind === "open" ? readEntry(OpenEntry, body) : readEntry(CloseEntry, body)) !== null)).toBe(
    true,
  );

  // What was said to be durable is there; what was left open is closed as a failure.
  ledger.reconcile();
  const closed = new Set(said.filter((line) => line.startsWith("close ")).map((line) => line.slice(6)));
  const opened = said.filter((line) => line.startsWith("open ")).map((line) => line.slice(5));
  expect(opened.length).toBeGreaterThan(kills);
  for (const id of opened) {
    const status = ledger.get(id)?.status;
    // A closing may be durable although the process did not live to say so.
    expect(closed.has(id) ? ["success"] : ["success", "failure"]).toContain(status);
  }
  expect(ledger.search({ status: "pending", limit: 500 }).items).toEqual([]);
  expect(ledger.search({ status: "failure", query: "stopped before this action", limit: 500 }).items.length).toBeGreaterThan(kills / 4);
  expect(storage.db.pragma("integrity_check", { simple: true })).toBe("ok");
  expect((await ledger.verify()).ok).toBe(true);
});
