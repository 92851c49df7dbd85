import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CloseEntry, OpenEntry, readEntry } from "../../agent-server/receipts/entry.ts";
import { gated, owner, proposedEdit } from "../support/memory/memory-folder.ts";
import { Sequences, steps } from "../support/memory/sequences.ts";
import { fastFolder, openPropertyHost, type PropertyHost } from "../support/memory/world.ts";
import { runs, soak } from "../support/soak.ts";

const writer = fileURLToPath(new URL("../support/memory/writer.ts", import.meta.url));
let folder: ReturnType<typeof fastFolder>;
beforeEach(() => {
  folder = fastFolder();
});
afterEach(() => folder.remove());

it("sequences of commits, rollbacks and crashes in three windows leave what the model says, after each step", () => {
  const sequences = new Sequences(folder.path);
  try {
    fc.assert(
      fc.property(steps, (sequence) => sequences.run(sequence)),
      { numRuns: runs(500, 10_000) },
    );
  } finally {
    sequences.close();
  }
  // All of it happened often, and in the soak what is rare happened too.
  const kinds = ["staged", "reinforced", "quarantined", "finish", "abandon", "apply", "rollback", "items", "last", "reopen", "reconcile"];
  const refused = ["finish conflict", "finish too_large", "rollback conflict", "items conflict", "last conflict"];
  const crashed = ["begin", "edit", "finish", "apply", "rollback", "items", "last", "abandon"].map((kind) => `${kind} crashed`);
  expect(kinds.filter((kind) => (sequences.seen.get(kind) ?? 0) < runs(1, 10))).toEqual([]);
  if (soak) expect([...refused, ...crashed].filter((kind) => !sequences.seen.has(kind))).toEqual([]);
});

it("sequences do so with the gates and the text index of the product, in which nothing that waits is found", () => {
  const sequences = new Sequences(folder.path, true);
  try {
    fc.assert(
      fc.property(steps, (sequence) => sequences.run(sequence)),
      { numRuns: runs(50, 200) },
    );
  } finally {
    sequences.close();
  }
  expect(sequences.seen.get("quarantined")).toBeGreaterThan(runs(2, 10));
});

/** A host of its own process, what it has said so far, and its end. */
function startWriter(...what: string[]) {
  const child = spawn(process.execPath, ["--no-warnings", writer, folder.path, ...what], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  const ready = Promise.withResolvers<void>();
  const enough = Promise.withResolvers<void>();
  let lines = Number.POSITIVE_INFINITY;
  const said = (): string[] => output.split("\n").slice(1, -1);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.startsWith("ready\n")) ready.resolve();
    if (said().length >= lines) enough.resolve();
  });
  const ended = once(child, "close").then(([code]) => {
    ready.reject(new Error(`The writer ended with ${String(code)} before it was ready.`));
    enough.resolve();
    return code as number | null;
  });
  /** Resolves when it has said so many lines, or has ended. */
  const saidLines = async (count: number): Promise<void> => {
    lines = count;
    if (said().length >= lines) enough.resolve();
    await enough.promise;
  };
  return { child, ready: ready.promise, ended, said, saidLines };
}

function openHost(): PropertyHost {
  return openPropertyHost({ dataDir: folder.path, workspace: "/projects/a", now: Date.now, fuse: { left: null, blown: false } });
}

/** The ids of finished commits, each of which has one closed receipt of its own; no receipt is without its commit. */
function finishedCommits({ storage }: PropertyHost): Set<string> {
  // In one transaction: another process may be writing.
  const { rows, commits } = storage.transaction(() => ({
    rows: storage.db.prepare<[], { kind: string; body: string; receipt_id: string }>("SELECT kind, body, receipt_id FROM ledger").all(),
    commits: storage.db
      .prepare<[], { id: string; receipt_id: string }>("SELECT id, receipt_id FROM memory_commits WHERE finish_seq IS NOT NULL")
      .all(),
  }));
  const closed = new Set(
    rows.flatMap((row) => (row.kind === "close" && readEntry(CloseEntry, row.body)?.status === "success" ? [row.receipt_id] : [])),
  );
  const receipts = rows.flatMap((row) => {
    const entry = row.kind === "open" ? readEntry(OpenEntry, row.body) : null;
    return entry?.actionName === "memory.commit" ? [`${String(entry.inputs["commitId"])} ${entry.id} ${String(closed.has(entry.id))}`] : [];
  });
  expect(receipts.toSorted()).toEqual(commits.map(({ id, receipt_id: receipt }) => `${id} ${receipt} true`).toSorted());
  return new Set(commits.map(({ id }) => id));
}

it("two processes that add to one item at once lose none of what was added", async () => {
  const host = openHost();
  host.commits.apply([gated(proposedEdit({ op: "insert", target: "archival", content: "count 000000" }))], owner, {
    reason: "start",
    parentId: null,
  });
  const times = runs(40, 150);
  /** True when one really met a change of the other's. */
  async function pair(before: number): Promise<boolean> {
    const writers = [startWriter("count", String(times)), startWriter("count", String(times))];
    await Promise.all(writers.map(({ ready }) => ready));
    for (const { child } of writers) child.stdin.write("go\n");
    for (const { ended } of writers) expect(await ended).toBe(0);

    const contents = host.storage.db.prepare<[], string>("SELECT content FROM memory_items").pluck().all();
    expect(contents).toEqual([`count ${String((before + 1) * 2 * times).padStart(6, "0")}`]);
    const finished = finishedCommits(host);
    const said = writers.flatMap((one) => one.said());
    const done = said.filter((line) => line.startsWith("done "));
    expect(done).toHaveLength(2 * times);
    for (const line of done) expect(finished.has(line.slice(5))).toBe(true);
    return said.some((line) => line.startsWith("late "));
  }
  // A busy machine may let one end before the other begins; that pair showed nothing.
  let met = false;
  for (let before = 0; before < 5 && !met; before += 1) met = await pair(before);
  expect(met).toBe(true);
  host.storage.close();
});

const kills = runs(6, 16);

it(`hosts killed ${kills} times at any moment, two at a time, leave whole commits with their receipts, and nothing open`, async () => {
  const host = openHost();
  let commits = 0;
  const killOnce = async (after: number): Promise<void> => {
    const { child, ready, saidLines, ended, said } = startWriter("churn");
    await ready;
    child.stdin.write("go\n");
    await saidLines(after);
    child.kill("SIGKILL");
    await ended;
    const finished = finishedCommits(host);
    for (const line of said()) expect(finished.has(line.slice(5))).toBe(true);
    commits += said().length;
  };
  for (let turn = 0; turn < kills / 2; turn += 1) await Promise.all([killOnce(1 + turn), killOnce(16 - turn)]);
  expect(commits).toBeGreaterThanOrEqual((kills / 2) * 17);

  expect(host.commits.reconcile()).toBeGreaterThan(0);
  expect(host.commits.open()).toBe(0);
  expect(await host.ledger.verify()).toMatchObject({ ok: true });
  // Of three that went in together all are there or none; what is found is what is there.
  const items = host.storage.db
    .prepare<[], { seq: number; content: string; commit_id: string }>("SELECT seq, content, commit_id FROM memory_items ORDER BY seq")
    .all();
  for (const [commitId, together] of Map.groupBy(items, (item) => item.commit_id))
    expect([commitId, together.length]).toEqual([commitId, 3]);
  expect(host.storage.db.prepare("SELECT seq, text AS content FROM property_index ORDER BY seq").all()).toEqual(
    items.map(({ seq, content }) => ({ seq, content })),
  );
  host.storage.close();
});
