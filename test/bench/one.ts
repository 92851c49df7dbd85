/** One bench in a process of its own, started by main.ts: sends each row as it is measured, so that a failure costs the rest of it alone. */
import { pathToFileURL } from "node:url";
import type { BenchMessage, BenchRow } from "./bench-row.ts";

const send = (message: BenchMessage) => new Promise((resolve) => process.send?.(message, resolve));
const [file = ""] = process.argv.slice(2);
try {
  const bench = (await import(pathToFileURL(file).href)) as { run(): Promise<BenchRow[]> | AsyncIterable<BenchRow> };
  for await (const row of await bench.run()) await send({ row });
} catch (error) {
  await send({ failure: error instanceof Error ? error.message : String(error) });
}
process.exit(0);
