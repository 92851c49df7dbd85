import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { runIn } from "../support/sandbox/run.ts";
import { createGitFixture } from "../support/tools/git-fixture.ts";
import { type BenchRow, quick } from "./bench-row.ts";

const rounds = quick ? 7 : 15;
const folders = quick ? 100 : 1_000;
const filesPerFolder = 100;
const questId = "q1";
const configDir = join(import.meta.dirname, "../../config");

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * `run_command` as a whole (decision, receipt, secret files, view, scan, proposals) beside the sandbox alone, over a large repository; and
 * a command that writes 3,000 generated files, with their application, beside the same in the sandbox alone.
 */
export async function run(): Promise<BenchRow[]> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-bench-task-")));
  const [workspace, dataDir, home] = [join(base, "proj"), join(base, "data"), join(base, "home")];
  for (const folder of [workspace, dataDir, home]) mkdirSync(folder);
  const limits = () => ({ ...isolationLimits, workspaceBytes: 1 << 30 });
  const shell = openOsShell({ workspace, dataDir, protectedPaths: [] }, { env: { ...process.env, HOME: home }, limits });
  const at = createGitFixture({ base, workspace, dataDir, home, configDir, posture: "supervised", given: { configDir, shells: [shell] } });
  try {
    for (let folder = 0; folder < folders; folder += 1) {
      mkdirSync(join(workspace, "src", `folder-${folder}`), { recursive: true });
      for (let file = 0; file < filesPerFolder; file += 1)
        writeFileSync(join(workspace, "src", `folder-${folder}`, `file-${file}.ts`), `export const value = ${file};\n`);
    }
    writeFileSync(join(workspace, ".gitignore"), "node_modules\n");
    writePackages(workspace);
    execFileSync("git", ["add", "."], { cwd: workspace });
    at.git("commit", "-qm", "Files");
    await shell.probe();
    const files = (folders * filesPerFolder).toLocaleString("en-US");

    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const started = performance.now();
      await work();
      return performance.now() - started;
    };
    const inTask = async (command: string): Promise<void> => {
      const { isError, text } = await at.run("run_command", { command }, { quest: questId });
      if (isError) throw new Error(text);
    };
    const bare = async (command: string): Promise<void> => {
      const { result } = await runIn(shell, workspace, command, { timeoutMs: 120_000 });
      if (result.exitCode !== 0) throw new Error(`${command} failed.`);
    };
    const reject = async (): Promise<void> => {
      for (const { id } of at.tools.changes.list({ questId, open: true, limit: 100 })) await at.tools.changes.decide(id, "reject");
    };

    async function paired(name: string, command: (round: number) => string): Promise<BenchRow> {
      const [ours, alone]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds + 2; round += 1) {
        const without = await timed(() => bare(command(round)));
        at.git("checkout", "-q", ".");
        const within = await timed(() => inTask(command(round)));
        await reject();
        if (round < 2) continue;
        ours.push(within);
        alone.push(without);
      }
      const more = median(ours.map((value, index) => value - (alone[index] ?? 0)));
      return {
        ...{ name, ours: median(ours), bare: median(alone), ratio: median(ours) / median(alone), unit: "ms" },
        note: `${Math.round(more)} ms more than the OS sandbox alone, with decision, receipt, view, scan and proposal`,
      };
    }

    /** Takes the written files out of the workspace. They are not deleted: ext4 finds new inodes slowly for a while after many deletions. */
    const moveGenerated = (): void => renameSync(join(workspace, "node_modules"), join(base, `written-${readdirSync(base).length}`));

    async function generated(name: string, command: string): Promise<BenchRow> {
      const [ours, alone]: [number[], number[]] = [[], []];
      for (let round = 0; round < (quick ? 3 : 7); round += 1) {
        alone.push(await timed(() => bare(command)));
        moveGenerated();
        ours.push(
          await timed(async () => {
            await inTask(command);
            await at.tools.execution.settlement?.decideGenerated(questId, "accept");
          }),
        );
        moveGenerated();
      }
      return {
        name: `${name}, and their application`,
        ...{ ours: median(ours), bare: median(alone), unit: "ms" },
        // Of each pair, because the disk is faster or slower for minutes.
        ratio: median(ours.map((value, index) => value / (alone[index] ?? Number.NaN))),
      };
    }

    /** Tasks that each proposed one change and wait for its review. */
    async function waiting(): Promise<BenchRow[]> {
      const tasks = quick ? 10 : 50;
      const [memory, disk] = [process.memoryUsage.rss(), usedBytes(join(dataDir, "tasks"))];
      for (let index = 0; index < tasks; index += 1) {
        const { isError, text } = await at.run(
          "run_command",
          { command: "echo changed >> src/folder-1/file-1.ts" },
          { quest: `task-${index}` },
        );
        if (isError) throw new Error(text);
      }
      const perTask = { memory: (process.memoryUsage.rss() - memory) / tasks, disk: (usedBytes(join(dataDir, "tasks")) - disk) / tasks };
      const row = (what: "memory" | "disk", bytes: number, note: string): BenchRow => ({
        ...{ name: `${what} of a task with one change under review`, unit: "kB", note },
        ...{ ours: perTask[what] / 1024, bare: bytes / 1024, ratio: perTask[what] / bytes },
      });
      return [
        row("memory", memory, "beside the process before"),
        row("disk", usedBytes(join(workspace, "src")), "beside a copy of the workspace's files"),
      ];
    }

    return [
      await paired(`run_command over ${files} files, nothing changed`, () => "true"),
      await paired(`run_command over ${files} files, 1 changed`, (round) => `echo "// ${round}" >> src/folder-1/file-1.ts`),
      await generated(
        "a shell loop that writes 3,000 generated files",
        'for p in $(seq 100); do mkdir -p node_modules/p$p; for f in $(seq 30); do echo "module.exports = $f;" > node_modules/p$p/$f.js; done; done',
      ),
      await generated("npm install of 3,000 files", "npm install --offline --no-audit --no-fund --no-package-lock --loglevel=error"),
      ...(await waiting()),
    ];
  } finally {
    await at.tools.close();
    at.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Bytes that a folder takes on the disk. */
function usedBytes(folder: string): number {
  return Number(execFileSync("du", ["-sk", folder], { encoding: "utf8" }).split("\t")[0]) * 1024;
}

/** 30 packages of 100 files each as archives, and a package.json that depends on them. */
function writePackages(workspace: string): void {
  const vendor = join(workspace, "vendor");
  const dependencies: Record<string, string> = {};
  for (let index = 0; index < 30; index += 1) {
    const name = `package-${index}`;
    const folder = join(vendor, "package");
    mkdirSync(join(folder, "lib"), { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0" }));
    for (let file = 1; file < 100; file += 1) writeFileSync(join(folder, "lib", `${file}.js`), `module.exports = ${index * file};\n`);
    execFileSync("tar", ["czf", `${name}.tgz`, "package"], { cwd: vendor });
    rmSync(folder, { recursive: true });
    dependencies[name] = `file:vendor/${name}.tgz`;
  }
  writeFileSync(join(workspace, "package.json"), JSON.stringify({ name: "bench", private: true, dependencies }));
}
