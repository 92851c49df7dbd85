import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeManyFiles } from "../support/tools/many-files.ts";
import { createEffectsFixture } from "../support/tools/effects-fixture.ts";
import type { BenchRow } from "./bench-row.ts";

const files = Number(process.env["BENCH_FILES"] ?? 100_000);
const rounds = 5;
/** In memory where that is possible, so that it is our work that is measured and not a disk's. */
const folder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/**
 * What watching a command costs in a repository of 100,000 files: the looks before and after it together, beside a bare walk that does
 * nothing but `lstat`, and beside `git status`. Medians, in ms.
 */
export async function run(): Promise<BenchRow[]> {
  const base = realpathSync(mkdtempSync(join(folder, "lancelot-bench-")));
  try {
    const workspace = join(base, "proj");
    mkdirSync(workspace);
    makeManyFiles(workspace, files);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: workspace, stdio: "ignore" });
    git("init", "-q");
    git("-c", "core.looseCompression=0", "add", ".");
    git("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0", "commit", "-qm", "x");
    git("repack", "-adq", "--window=0");
    const fixture = createEffectsFixture({ base });
    const { effects } = fixture;
    if (effects === null) throw new Error("There is a workspace.");
    const watch = async (change: () => void): Promise<number> => {
      const from = performance.now();
      const watched = await effects.begin({ questId: null, receiptId: "bench", signal: new AbortController().signal });
      const begun = performance.now() - from;
      change();
      const to = performance.now();
      await watched.finish();
      return begun + performance.now() - to;
    };
    const cold = await watch(() => undefined);
    const before = process.memoryUsage.rss();
    const warm: number[] = [];
    const changed: number[] = [];
    const bare: number[] = [];
    const status: number[] = [];
    const held: number[] = [];
    const copy: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // The longest the event loop was held meanwhile.
      let last = performance.now();
      let longest = 0;
      const beat = setInterval(() => {
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
      }, 1);
      warm.push(await watch(() => undefined));
      clearInterval(beat);
      held.push(longest);
      changed.push(await watch(() => writeFileSync(join(workspace, "packages/p0/src/d1/file-50.ts"), `round ${round}\n`)));
      bare.push(timed(() => walk(workspace)));
      status.push(timed(() => git("status", "--porcelain")));
    }
    const after = process.memoryUsage.rss();
    copy.push(timed(() => execFileSync("cp", ["-a", workspace, join(base, "copy")])));
    fixture.close();
    const mega = 1024 * 1024;
    return [
      row("begin and finish, warm", median(warm), median(bare), "ms", "bare: one walk of lstat alone; this is two"),
      row("the same, one file changed", median(changed), median(bare), "ms", "bare: as above"),
      row("begin and finish, warm", median(warm), median(status), "ms", "bare: git status"),
      row("begin and finish for the first time", cold, median(copy), "ms", "bare: cp -a of the same tree"),
      row("event loop held at most", median(held), median(bare), "ms", "bare: the walk above, which holds it throughout"),
      row("memory after it, over that before", (after - before) / mega, before / mega, "MB", "bare: the process before"),
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

function walk(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isDirectory()) walk(path);
  }
}

function timed(work: () => unknown): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function row(name: string, ours: number, bare: number, unit: string, note: string): BenchRow {
  return { name, ours, bare, ratio: ours / bare, unit, note };
}
