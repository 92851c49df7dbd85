// Loaded into a host under test with --import: on SIGUSR2 it collects garbage and adds a line with the process's memory (in bytes) to the
// file LANCELOT_HEAP_SAMPLES; on SIGWINCH it writes a heap snapshot next to it. Needs --expose-gc, which the product never has.
import { appendFileSync } from "node:fs";
import { writeHeapSnapshot } from "node:v8";

const file = process.env["LANCELOT_HEAP_SAMPLES"] ?? "";

process.on("SIGUSR2", () => {
  // Two passes: finalizers of the first pass free what the second collects.
  globalThis.gc?.();
  setImmediate(() => {
    globalThis.gc?.();
    appendFileSync(file, `${JSON.stringify(process.memoryUsage())}\n`);
  });
});
process.on("SIGWINCH", () => {
  writeHeapSnapshot(`${file}.${Date.now()}.heapsnapshot`);
});
