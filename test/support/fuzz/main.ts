import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../setup/project.mjs";
import { fuzz } from "./run.ts";
import type { Report } from "./worker/main.ts";
import { groupNames, targetsOf } from "./targets.ts";

/**
 * `node test/support/run.mjs test/support/fuzz/main.ts [--seconds N] [--count N] [--seed N] [--part NAME] [GROUP…]`: fuzzes the targets and
 * prints a row for each. The seconds are for all of them together; each target gets at least `--count` inputs. The inputs that break one are
 * in test-output/fuzz.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "0" },
    count: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    part: { type: "string", default: "" },
  },
});
const wanted = groupNames.filter((name) => positionals.length === 0 || positionals.includes(name));
const counts = await Promise.all(wanted.map(async (name) => (await targetsOf(name, values.part)).length));
const targets = counts.reduce((sum, count) => sum + count, 0);
const output = join(root, "test-output/fuzz");
mkdirSync(output, { recursive: true });
console.log("| target | inputs | slowest, ms | faults |\n| --- | ---: | ---: | ---: |");
for (const group of wanted) {
  const options = { seed: Number(values.seed), count: Number(values.count), forMs: (Number(values.seconds) * 1_000) / targets };
  await fuzz(group, { ...options, part: values.part, onReport: print });
}

function print({ target, inputs, faults, slowestMs }: Report): void {
  console.log(`| ${target} | ${inputs} | ${slowestMs} | ${faults.length} |`);
  for (const [index, { kind, detail, input }] of faults.entries()) {
    writeFileSync(join(output, `${target.replaceAll(/\W+/g, "-")}-${kind}-${index}.txt`), input);
    console.log(`  ${kind} ${detail}\n  ${input.length} characters: ${JSON.stringify(input.slice(0, 300))}`);
    process.exitCode = 1;
  }
}
