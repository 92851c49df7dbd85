import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createKnownSecrets, createRedactor } from "../../agent-server/security/security.ts";
import { processorMs } from "../support/processor-time.ts";
import type { BenchRow } from "./bench-row.ts";

const root = join(import.meta.dirname, "../..");
const megabyte = 1_000_000;

/** Redaction with 200 known values beside redaction by formats alone, in milliseconds of processor time per megabyte. */
export async function run(): Promise<BenchRow[]> {
  const known = createKnownSecrets();
  const lines = Array.from({ length: 200 }, (_, index) => `VALUE_${String(index)}=${valueOf(index)}\n`);
  known.learnFile("/bench/.env", Buffer.from(lines.join("")));
  const building = processorMs();
  known.find("builds the index");
  const built = processorMs() - building;
  const rows: BenchRow[] = [{ name: "index of 200 values", ours: built, bare: built, ratio: 1, unit: "ms" }];
  for (const [name, text] of Object.entries(texts())) {
    const bare = median(() => createRedactor().text(text));
    const ours = median(() => createRedactor({ known }).text(text));
    rows.push({ name: `1 MB of ${name}, p50`, ours, bare, ratio: ours / bare, unit: "ms", note: "bare: redactor without known values" });
  }
  return await Promise.resolve(rows);
}

/** Every fifth value is an address of words, the others look generated. */
function valueOf(index: number): string {
  if (index % 5 === 0) return `https://service-${String(index)}.camelot.internal/path/of/words`;
  let state = index + 1;
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length: 16 + (index % 32) }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return letters.charAt((state >>> 16) % letters.length);
  }).join("");
}

function texts(): Record<string, string> {
  const filled = (unit: (index: number) => string): string => {
    let text = "";
    for (let index = 0; text.length < megabyte; index += 1) text += unit(index);
    // A flat string, as a program's output is.
    return Buffer.from(text.slice(0, megabyte)).toString("latin1");
  };
  const folder = join(root, "agent-server");
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const code = sources.map((file) => readFileSync(join(folder, file), "utf8")).join("");
  return {
    code: code.slice(0, megabyte),
    "a build log": filled(
      (index) => `[12:04:2${String(index % 10)}] info  src/module-${String(index)}/file.ts compiled in ${String(index % 97)} ms\n`,
    ),
    "test results": filled((index) => `  ✓ auth token ${String(index)} is refreshed before its session ends (${String(index % 31)} ms)\n`),
    JSON: filled(
      (index) => `{"id":${String(index)},"name":"module-${String(index)}","tags":["a","b"],"url":"https://example.com/${String(index)}"}\n`,
    ),
  };
}

function median(work: () => unknown): number {
  const times = Array.from({ length: 9 }, () => {
    const start = processorMs();
    work();
    return processorMs() - start;
  });
  return times.toSorted((one, other) => one - other)[4] ?? 0;
}
