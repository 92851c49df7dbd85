/**
 * Memory at growing sizes: how long a search and a compilation take, beside the raw FTS5 query of the same words over the same table
 * (`ORDER BY rank`), and beside @modelcontextprotocol/server-memory with the same data. `npm run bench -- memory` goes up to 100,000
 * items; `node test/bench/memory.bench.ts 1000000` takes other sizes, and minutes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseQuery } from "../../agent-server/memory/search/search-query.ts";
import { openCompilerFixture, type CompilerFixture } from "../support/memory/compiler-fixture.ts";
import { corpus, corpusNow, corpusQueries, corpusWorkspace } from "../support/memory/corpus.ts";
import { startReferenceServer } from "../support/memory/reference-server.ts";
import { type BenchRow, quick } from "./bench-row.ts";

const sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
const queries = corpusQueries(210);
const compiled = 60;
/** Queries the reference server is asked; at 100,000 items each takes it seconds. */
const referenceQueries = 42;
const itemsInTransaction = 5_000;

interface Times {
  readonly p50: number;
  readonly p95: number;
}

export async function* run(counts: readonly number[] = sizes): AsyncGenerator<BenchRow> {
  for (const count of counts) {
    const folder = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "lancelot-memory-"));
    const fixture = openCompilerFixture({ dataDir: join(folder, "data"), workspace: corpusWorkspace, now: () => corpusNow });
    try {
      const written = fill(fixture, count);
      const { search, raw } = searches(fixture);
      const size = count.toLocaleString("en");
      const note = `${Math.round(written)} µs to store an item`;
      yield toRow(`search of ${size} items, p50`, search.p50, raw.p50, "raw FTS5 by rank");
      yield toRow(`search of ${size} items, p95`, search.p95, raw.p95, `raw FTS5 by rank; ${note}`);
      const compile = times(queries.slice(0, compiled), ({ query }) => fixture.compile({ objective: query }));
      yield toRow(`compile with ${size} items, p95`, compile.p95, raw.p95, "with its receipt on the disk; bare: one raw FTS5 query");
      const reference = await referenceTimes(folder, count);
      const ours = times(queries.slice(0, referenceQueries), ({ query }) => ask(fixture, query));
      yield toRow(`search of ${size} items, p50`, ours.p50, reference.p50, "@modelcontextprotocol/server-memory");
      yield toRow(
        `search of ${size} items, p95`,
        ours.p95,
        reference.p95,
        `@modelcontextprotocol/server-memory, ${referenceQueries} queries`,
      );
    } finally {
      fixture.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Microseconds an item. */
function fill(fixture: CompilerFixture, count: number): number {
  const start = performance.now();
  let batch: Parameters<CompilerFixture["put"]>[0][number][] = [];
  for (const item of corpus(count)) {
    batch.push(item);
    if (batch.length < itemsInTransaction) continue;
    fixture.put(batch);
    batch = [];
  }
  fixture.put(batch);
  return ((performance.now() - start) * 1_000) / count;
}

function ask(fixture: CompilerFixture, query: string) {
  return fixture.search.search({
    ...{ query, namespace: null, tags: [], minConfidence: 0, limit: 10, questId: null, now: corpusNow },
    tiers: ["core", "working", "episodic", "archival"],
  });
}

/** Ours and the raw query take turns, so that both meet the machine in the same state. The first round warms up. */
function searches(fixture: CompilerFixture): { search: Times; raw: Times } {
  const rank = fixture.storage.db.prepare<[string], number>("SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rank LIMIT 10");
  const ours: number[] = [];
  const bare: number[] = [];
  for (const counted of [false, true]) {
    for (const { query } of queries) {
      const terms = parseQuery(query).terms.map(({ stem }) => `"${stem}"`);
      const start = performance.now();
      ask(fixture, query);
      const middle = performance.now();
      if (terms.length > 0) rank.all(terms.join(" OR "));
      const end = performance.now();
      if (!counted) continue;
      ours.push(middle - start);
      bare.push(end - middle);
    }
  }
  return { search: percentiles(ours), raw: percentiles(bare) };
}

async function referenceTimes(folder: string, count: number): Promise<Times> {
  const server = await startReferenceServer(folder, corpus(count));
  try {
    const all: number[] = [];
    for (const { query } of queries.slice(0, referenceQueries)) {
      const start = performance.now();
      await server.search(query);
      all.push(performance.now() - start);
    }
    return percentiles(all);
  } finally {
    await server.close();
  }
}

function times<T>(all: readonly T[], work: (one: T) => unknown): Times {
  for (const one of all.slice(0, 10)) work(one);
  return percentiles(
    all.map((one) => {
      const start = performance.now();
      work(one);
      return performance.now() - start;
    }),
  );
}

function percentiles(all: readonly number[]): Times {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

function toRow(name: string, ours: number, bare: number, note: string): BenchRow {
  const round = (value: number): number => Number(value.toPrecision(3));
  return { name: `memory: ${name}`, ours: round(ours), bare: round(bare), ratio: round(ours / bare), unit: "ms", note };
}

if (import.meta.main) {
  const asked = process.argv.slice(2).map(Number);
  for await (const row of run(asked.length > 0 ? asked : sizes)) console.table([row]);
}
