import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectNode, root } from "../setup/project.mjs";
import { type Guard, guards } from "./guards.ts";

/** How the test of a row came out. */
export interface Tried {
  readonly passed: number;
  /** Names of tests that failed. A test file that cannot be loaded has none. */
  readonly failed: readonly string[];
}

/** Runs a row's test, with its guard or without it. */
export async function tryGuard({ row, test }: Guard, isRemoved: boolean): Promise<Tried> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-guard-"));
  const file = join(folder, "result.json");
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--config", "test/support/guards/vitest.config.ts"];
  const env = { ...process.env, LANCELOT_WITHOUT_GUARD: isRemoved ? row : "" };
  // It fails when a test does, which the file tells.
  const printed = await new Promise<string>((resolve) =>
    execFile(
      projectNode(),
      [...args, "--reporter=json", `--outputFile=${file}`, test],
      { cwd: root, env, maxBuffer: 1 << 28 },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    ),
  );
  try {
    const { testResults } = JSON.parse(readFileSync(file, "utf8")) as {
      testResults: { assertionResults: { status: string; fullName: string }[] }[];
    };
    const results = testResults.flatMap(({ assertionResults }) => assertionResults);
    const named = (status: string): string[] => results.filter((one) => one.status === status).map(({ fullName }) => fullName);
    return { passed: named("passed").length, failed: named("failed") };
  } catch (cause) {
    throw new Error(`${row}: ${test} did not run: ${printed.slice(-2_000)}`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// `node test/support/run.mjs test/support/guards/main.ts [ROW…]` prints the table.
if (process.argv[1] === import.meta.filename) {
  const wanted = process.argv.slice(2);
  console.log("| row | guard | test | with it | without it |\n| --- | --- | --- | --- | --- |");
  for (const guard of guards.filter(({ row }) => wanted.length === 0 || wanted.includes(row))) {
    const kept = await tryGuard(guard, false);
    const removed = await tryGuard(guard, true);
    const show = ({ passed, failed }: Tried): string => `${passed} passed, ${failed.length} failed`;
    console.log(`| ${guard.row} | \`${guard.file}\` | \`${guard.test}\` | ${show(kept)} | ${show(removed)} |`);
    if (kept.failed.length > 0 || removed.failed.length === 0) process.exitCode = 1;
  }
}
