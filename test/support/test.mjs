// `npm test`: checks, unit, integration, editor and browser tests. Sets the machine up first; runs on Node 20 with nothing installed.
// `npm test -- unit browser` runs those parts alone.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureCodeServer } from "./setup/code-server.mjs";
import { findChromium } from "./setup/chromium.mjs";
import { ensureEngine } from "./setup/engine.mjs";
import { ensureBuild, ensurePackages, projectEnv, projectNode, root } from "./setup/project.mjs";
import { has, SetupError, say } from "./setup/say.mjs";

const ci = process.env.CI === "true";
const output = join(root, "test-output");
const tally = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

function record(ok, name, text = "") {
  tally[ok ? "passed" : "failed"] += 1;
  process.stdout.write(`${ok ? "✓" : "✗"} ${name}\n${ok ? "" : `${text}\n`}`);
  if (!ok) failures.push(name);
}

/** A part whose real component is missing: named on a contributor's machine, a failure in CI. */
function missing(part, reason) {
  if (ci) return record(false, part, reason);
  tally.skipped += 1;
  process.stdout.write(`- ${part}: skipped. ${reason}\n`);
}

function vitest(project, env = {}) {
  const report = join(output, `${project}.json`);
  return new Promise((resolve) => {
    const args = [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--project",
      project,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
    ];
    const child = spawn(projectNode(), args, { cwd: root, env: projectEnv(env), stdio: ["ignore", "inherit", "inherit"] });
    child.on("close", (code) => {
      if (existsSync(report)) {
        const result = JSON.parse(readFileSync(report, "utf8"));
        tally.passed += result.numPassedTests;
        tally.failed += result.numFailedTests;
        tally.skipped += result.numPendingTests + result.numTodoTests;
        for (const file of result.testResults)
          for (const test of file.assertionResults) if (test.status === "failed") failures.push(`${project}: ${test.fullName}`);
        if (ci && result.numPendingTests + result.numTodoTests > 0)
          record(false, `${project}: nothing is skipped in CI`, "Tests were skipped; see above.");
      }
      if (code !== 0 && !failures.some((name) => name.startsWith(project))) record(false, project, `vitest ended with ${code}`);
      resolve();
    });
  });
}

const parts = {
  async checks() {
    const { checks } = await import("./checks/checks.mjs");
    for (const { name, check } of checks) {
      const { ok, output: text } = await check();
      record(ok, `checks: ${name}`, text);
    }
  },
  unit: () => vitest("unit"),
  async integration() {
    // Tests against a real container engine are skipped where there can be none, and say so; in CI that is a failure.
    await ensureEngine().catch((error) => {
      if (!(error instanceof SetupError)) throw error;
      missing("container engine", error.message);
    });
    await vitest("integration");
  },
  editor: () => inWorkbench("editor"),
  browser: () => inWorkbench("browser"),
};

async function inWorkbench(project) {
  const chromium = findChromium();
  if (chromium === null)
    return missing(project, "Chromium is missing: install it (Debian: apt-get install chromium) or name it in CHROMIUM_PATH.");
  try {
    await ensureCodeServer();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return missing(project, error.message);
  }
  await vitest(project, { CHROMIUM_PATH: chromium });
}

const asked = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
const unknown = asked.filter((name) => !(name in parts));
try {
  if (unknown.length > 0) throw new SetupError(`There is no part ${unknown.join(", ")}; parts are ${Object.keys(parts).join(", ")}.`);
  const started = Date.now();
  await ensurePackages();
  await ensureBuild({ force: ci });
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  if (!(await has("git"))) throw new SetupError("git is missing.");
  for (const name of asked.length > 0 ? asked : Object.keys(parts)) {
    const from = Date.now();
    say(`— ${name} —`);
    await parts[name]();
    say(`${name}: ${Math.round((Date.now() - from) / 1000)} s`);
  }
  if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.map((name) => `  ${name}`).join("\n")}\n`);
  process.stdout.write(
    `\nAll parts: ${Math.round((Date.now() - started) / 1000)} s\n${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`,
  );
  process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
