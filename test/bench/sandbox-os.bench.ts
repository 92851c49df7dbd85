import { spawn } from "node:child_process";
import { createHostShell } from "../../agent-server/sandbox/host-shell.ts";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createSandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn } from "../support/sandbox/run.ts";
import type { BenchRow } from "./bench-row.ts";

const rounds = 30;
const floodMegabytes = 512;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Milliseconds of each round, one after the other. */
async function timed(count: number, once: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < count + 3; round += 1) {
    const start = performance.now();
    await once();
    if (round >= 3) took.push(performance.now() - start);
  }
  return median(took);
}

/** The bare thing: a shell with pipes, and nothing around it. */
function bare(command: string, cwd: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", command], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let bytes = 0;
    child.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length));
    child.once("error", reject);
    child.once("close", () => resolve(bytes));
  });
}

/** A call of the sandbox beside one of bubblewrap by itself and of a bare shell; many at once; a flood of output. */
export async function run(): Promise<BenchRow[]> {
  const fixture = createSandboxFixture();
  const os = openOsShell(fixture);
  const host = createHostShell({
    learnSecrets: () => Promise.resolve(),
    workspace: fixture.workspace,
    dataDir: fixture.dataDir,
    enabled: () => true,
  });
  const once = (shell: ShellProvider, command: string) =>
    runIn(shell, fixture.workspace, command, { timeoutMs: 120_000 }).then(({ result }) => {
      if (result.ended !== "exit" || result.exitCode !== 0) throw new Error(`${command} ended otherwise: ${JSON.stringify(result)}`);
    });
  try {
    await os.probe();
    const spawned = await timed(rounds, () => bare("true", fixture.workspace));
    const wrapped = await timed(rounds, () =>
      bare("bwrap --unshare-all --die-with-parent --ro-bind / / --proc /proc --dev /dev true", fixture.workspace),
    );
    const sandboxed = await timed(rounds, () => once(os, "true"));
    const hosted = await timed(rounds, () => once(host, "true"));
    const many = await timed(3, () => Promise.all(Array.from({ length: 50 }, () => once(os, "true"))));
    const manyBare = await timed(3, () => Promise.all(Array.from({ length: 50 }, () => bare("true", fixture.workspace))));
    const flood = `dd if=/dev/zero bs=1M count=${floodMegabytes} 2>/dev/null`;
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 10);
    const flooded = await timed(3, () => once(os, flood));
    clearInterval(watch);
    const floodedBare = await timed(3, () => bare(flood, fixture.workspace));
    const row = (name: string, ours: number, base: number, note: string): BenchRow => ({
      name,
      ours,
      bare: base,
      ratio: ours / base,
      unit: "ms",
      note,
    });
    return [
      row("a command in the OS sandbox", sandboxed, spawned, "bare: bash by itself"),
      row("a command in the OS sandbox", sandboxed, wrapped, "bare: bwrap around the whole disk, read-only"),
      row("a command on the host", hosted, spawned, "bare: bash by itself"),
      row("50 commands at once in the OS sandbox", many, manyBare, "bare: bash by itself"),
      row(
        `${floodMegabytes} MB of output from the OS sandbox`,
        flooded,
        floodedBare,
        `memory of the host grew by ${Math.round((most - before) / (1 << 20))} MB`,
      ),
    ];
  } finally {
    await os.close();
    await host.close();
    fixture.close();
  }
}
