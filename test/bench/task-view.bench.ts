import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scanLayer } from "../../agent-server/workspace/workspace.ts";
import { createSandboxFixture } from "../support/sandbox/fixture.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { runIn } from "../support/sandbox/run.ts";
import type { BenchRow } from "./bench-row.ts";

const rounds = 15;
const folders = 1_000;
const filesPerFolder = 100;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** A command in the view of a task over a large workspace, with opening the view and finding what changed, beside the sandbox alone. */
export async function run(): Promise<BenchRow[]> {
  const fixture = createSandboxFixture();
  const shell = openOsShell(fixture);
  const layer = { name: "workspace", lower: fixture.workspace };
  for (let folder = 0; folder < folders; folder += 1) {
    const at = join(fixture.workspace, "src", `folder-${folder}`);
    mkdirSync(at);
    for (let file = 0; file < filesPerFolder; file += 1) writeFileSync(join(at, `file-${file}.ts`), `export const value = ${file};\n`);
  }
  const { uid, gid } = fixture.owner;
  execFileSync("chown", ["-R", `${uid}:${gid}`, fixture.workspace]);
  const change = (count: number, round: number) =>
    `for i in $(seq ${count}); do echo "// ${round}" >> src/folder-$((i % ${folders}))/file-$((i / ${folders})).ts; done`;

  async function inView(command: string, expected: number): Promise<number> {
    const started = performance.now();
    const view = await shell.openView?.({ folder: join(fixture.dataDir, "tasks/one"), layers: [layer] });
    if (view === undefined) throw new Error("The sandbox has no views.");
    const { result } = await runIn(shell, fixture.workspace, command, { view, timeoutMs: 120_000 });
    if (result.exitCode !== 0) throw new Error(`${command} failed.`);
    const changes = await scanLayer({ lower: layer.lower, upper: view.upper(layer), merged: view.merged(layer) });
    await view.close();
    const took = performance.now() - started;
    if (changes.length !== expected) throw new Error(`${changes.length} changes were found, ${expected} expected.`);
    return took;
  }

  async function paired(name: string, count: number): Promise<BenchRow> {
    const [ours, bare]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds + 2; round += 1) {
      const command = change(count, round);
      const started = performance.now();
      await runIn(shell, fixture.workspace, command, { timeoutMs: 120_000 });
      const without = performance.now() - started;
      rmSync(join(fixture.dataDir, "tasks"), { recursive: true, force: true });
      const within = await inView(command, count);
      if (round < 2) continue;
      ours.push(within);
      bare.push(without);
    }
    const more = median(ours.map((value, at) => value - (bare[at] ?? 0)));
    return {
      name,
      ours: median(ours),
      bare: median(bare),
      ratio: median(ours) / median(bare),
      unit: "ms",
      note: `${Math.round(more)} ms more than the OS sandbox alone, with the view opened and what changed found`,
    };
  }

  try {
    await shell.probe();
    const files = (folders * filesPerFolder).toLocaleString("en-US");
    return [
      await paired(`a command over ${files} files in a task's view, 1 changed`, 1),
      await paired(`a command over ${files} files in a task's view, 1,000 changed`, 1_000),
    ];
  } finally {
    await shell.close();
    fixture.close();
  }
}
