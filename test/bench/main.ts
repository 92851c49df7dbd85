/**
 * `npm run bench`: the benches that take less than three minutes together, each figure beside the bare thing in the same run.
 * `npm run bench -- --all` runs every bench in full, `npm run bench -- ledger decide` those two, `--json FILE` names the report, which is
 * test-output/bench.json otherwise. Rows are printed as they come, and a bench that fails is a row too.
 */
import { execFileSync, fork } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../support/setup/project.mjs";
import type { BenchMessage, BenchRow } from "./bench-row.ts";

/** Benches that need an editor, an engine, a real model or minutes. */
const long = ["activation", "caching", "local", "local-tasks", "orchestration", "pii", "sandbox"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean", default: false }, json: { type: "string", default: join(root, "test-output/bench.json") } },
});
const names = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".bench.ts"))
  .map((name) => name.replace(".bench.ts", ""))
  .toSorted();
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(", ")}; benches are ${names.join(", ")}.`);
  process.exit(1);
}
const isQuick = !values.all && positionals.length === 0;
const chosen = positionals.length > 0 ? positionals : names.filter((name) => values.all || !long.includes(name));

interface Report {
  machine: object;
  /** `quick` leaves out large data and real models. */
  set: "quick" | "all" | "chosen";
  rows: (BenchRow & { bench: string })[];
  failures: { bench: string; message: string }[];
  seconds: Record<string, number>;
}

function commit(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty", "--abbrev=12"], { cwd: root, encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}

const report: Report = {
  machine: {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${release()} ${process.arch}`,
    node: process.versions.node,
    date: new Date().toISOString(),
    commit: commit(),
  },
  set: values.all ? "all" : isQuick ? "quick" : "chosen",
  rows: [],
  failures: [],
  seconds: {},
};

const number = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
const lines: string[] = [];
function print(line: string): void {
  lines.push(line);
  process.stdout.write(`${line}\n`);
}
function save(): void {
  const file = resolve(values.json);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(file.replace(/(\.json)?$/, ".md"), `${lines.join("\n")}\n`);
}

function runBench(bench: string): Promise<void> {
  return new Promise((done) => {
    const child = fork(join(import.meta.dirname, "one.ts"), [join(import.meta.dirname, `${bench}.bench.ts`)], {
      env: { ...process.env, LANCELOT_BENCH: isQuick ? "quick" : "full" },
      stdio: ["ignore", 2, 2, "ipc"],
    });
    let failed = false;
    const fail = (message: string) => {
      failed = true;
      report.failures.push({ bench, message });
      print(`| ${bench} | failed: ${message.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").slice(0, 300)} | | | | |`);
      save();
    };
    child.on("message", (message: BenchMessage) => {
      if ("failure" in message) return fail(message.failure);
      const { row } = message;
      report.rows.push({ bench, ...row });
      const name = `${row.name}${row.note ? ` (${row.note})` : ""}`;
      print(`| ${bench} | ${name} | ${number(row.ours)} | ${number(row.bare)} | ${row.unit} | ${number(row.ratio)} |`);
      save();
    });
    child.on("close", (code, signal) => {
      if (code !== 0 && !failed) fail(`ended with ${signal ?? code}`);
      done();
    });
  });
}

mkdirSync(join(root, "test-output"), { recursive: true });
print("| bench | measured | ours | bare | unit | ratio |");
print("|---|---|---:|---:|---|---:|");
for (const bench of chosen) {
  const from = performance.now();
  await runBench(bench);
  report.seconds[bench] = Math.round((performance.now() - from) / 100) / 10;
}
save();
process.stderr.write(`${resolve(values.json)}\n`);
process.exit(report.failures.length > 0 ? 1 : 0);
