/**
 * `npm run bench`: every bench, each beside the bare thing in the same run, as a table and as test-output/bench.json.
 * `npm run bench -- ledger decide` runs some.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BenchRow } from "./bench-row.ts";

const folder = import.meta.dirname;
const asked = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".bench.ts"))
  .filter((name) => asked.length === 0 || asked.includes(name.replace(".bench.ts", "")))
  .toSorted();
const rows: (BenchRow & { bench: string })[] = [];
for (const file of files) {
  process.stderr.write(`${file}…\n`);
  const { run } = (await import(pathToFileURL(join(folder, file)).href)) as { run: () => Promise<BenchRow[]> };
  for (const row of await run()) rows.push({ bench: file.replace(".bench.ts", ""), ...row });
}
const number = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
const table = [
  "| bench | measured | ours | bare | unit | ratio |",
  "|---|---|---:|---:|---|---:|",
  ...rows.map(
    (row) =>
      `| ${row.bench} | ${row.name}${row.note ? ` (${row.note})` : ""} | ${number(row.ours)} | ${number(row.bare)} | ${row.unit} | ${number(row.ratio)} |`,
  ),
].join("\n");
process.stdout.write(`${table}\n`);
const output = join(folder, "../../test-output");
mkdirSync(output, { recursive: true });
writeFileSync(join(output, "bench.json"), `${JSON.stringify(rows, null, 2)}\n`);
writeFileSync(join(output, "bench.md"), `${table}\n`);
process.exit(0);
