// `npm test`: checks, unit, integration, editor and browser tests. Sets the machine up first; runs on Node 20 with nothing installed.
// `npm test -- unit browser` runs those parts alone. `npm run soak -- --seed 42` runs the same tests with every run and case they have.
import "./setup/node-version.mjs";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { findChromium } from "./setup/chromium.mjs";
import { ensureCodeServer } from "./setup/code-server.mjs";
import { ensureMachine, missingParts, whyWithout } from "./setup/machine.mjs";
import { whyNoOtherUser } from "./setup/other-users.mjs";
import { compileCache, ensureBuild, ensurePackages, ensureVsix, projectEnv, projectNode, root } from "./setup/project.mjs";
import { SetupError, say } from "./setup/say.mjs";

const ci = process.env.CI === "true";
const output = join(root, "test-output");
const tally = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

function record(ok, name, text = "") {
  tally[ok ? "passed" : "failed"] += 1;
  process.stdout.write(`${ok ? "✓" : "✗"} ${name}\n${ok ? "" : `${text}\n`}`);
  if (!ok) failures.push(name);
}

/** The first lines of why a test failed, indented: what a shortened log still shows at its end. */
function reason(messages) {
  return stripVTControlCharacters(messages.join("\n"))
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.includes("node_modules"))
    .slice(0, 40)
    .map((line) => `      ${line.slice(0, 1_000)}`)
    .join("\n");
}

/** Names a part that cannot be tried here: skipped on a contributor's machine, a failure in CI. */
function missing(part, reason) {
  if (ci) return record(false, part, reason);
  tally.skipped += 1;
  process.stdout.write(`- ${part}: skipped. ${reason}\n`);
}

function vitest(name, projects = [name], env = { NODE_COMPILE_CACHE: compileCache }) {
  const report = join(output, `${name}.json`);
  return new Promise((resolve) => {
    const args = [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      ...projects.flatMap((project) => ["--project", project]),
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
          for (const test of file.assertionResults)
            if (test.status === "failed") failures.push(`${name}: ${test.fullName}\n${reason(test.failureMessages)}`);
        if (ci && result.numPendingTests + result.numTodoTests > 0)
          record(false, `${name}: nothing is skipped in CI`, "Tests were skipped; see above.");
      }
      if (code !== 0 && !failures.some((failure) => failure.startsWith(name))) record(false, name, `vitest ended with ${code}`);
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
  unit: () => vitest("unit", ["unit-processes", "unit", "unit-isolated"]),
  async integration() {
    for (const { part, reason } of missingParts()) if (part !== "workbench") missing(part, reason);
    const reason = whyNoOtherUser();
    if (reason !== null) missing("ordinary user", reason);
    await vitest("integration");
  },
  serial: () => vitest("serial"),
  "local-models": () => vitest("local-models"),
  views: () => vitest("views"),
  editor: () => inWorkbench("editor"),
  browser: () => inWorkbench("browser"),
};

/**
 * Every part, in lanes that run side by side: engines and models wait a lot, and so do the editor and its browser. On two cores, more lanes
 * would only wait for each other.
 */
const usualLanes = [["unit", "local-models"], ["editor", "browser", "views", "checks", "serial"], ["integration"]];
const soakLanes = [["unit", "integration", "views", "serial", "local-models"]];

async function runInOrder(names) {
  for (const name of names) {
    const from = Date.now();
    say(`— ${name} —`);
    await parts[name]();
    say(`${name}: ${Math.round((Date.now() - from) / 1000)} s`);
  }
}

async function inWorkbench(project) {
  const reason = whyWithout("browser");
  if (reason !== null) return missing(project, reason);
  try {
    await ensureCodeServer();
    // Before test files that run at the same time would each pack it.
    await ensureVsix();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return missing(project, error.message);
  }
  await vitest(project, [project], { CHROMIUM_PATH: findChromium() });
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { soak: { type: "boolean", default: false }, seed: { type: "string" } },
  });
  const unknown = positionals.filter((name) => !(name in parts));
  if (unknown.length > 0) throw new SetupError(`There is no part ${unknown.join(", ")}; parts are ${Object.keys(parts).join(", ")}.`);
  if (values.seed !== undefined && !/^-?\d+$/.test(values.seed)) throw new SetupError("--seed takes a whole number.");
  const lanes = positionals.length > 0 ? [positionals] : values.soak ? soakLanes : usualLanes;
  const started = Date.now();
  if (values.soak) {
    process.env.LANCELOT_SOAK = "1";
    process.env.LANCELOT_SEED = values.seed ?? String(Math.floor(Math.random() * 2 ** 31));
  } else if (values.seed !== undefined) process.env.LANCELOT_SEED = values.seed;
  const { LANCELOT_SEED: seed } = process.env;
  if (seed !== undefined) say(`Seed ${seed}: repeat this run with --seed ${seed}`);
  await ensureMachine();
  await ensurePackages();
  await ensureBuild({ force: ci });
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  await Promise.all(lanes.map(runInOrder));
  if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.map((name) => `  ${name}`).join("\n")}\n`);
  process.stdout.write(
    `\nAll parts: ${Math.round((Date.now() - started) / 1000)} s\n${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`,
  );
  if (seed !== undefined) process.stdout.write(`Seed ${seed}\n`);
  process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
} catch (error) {
  if (!(error instanceof SetupError) && !String(error.code).startsWith("ERR_PARSE_ARGS")) throw error;
  say(error.message);
  process.exitCode = 1;
}
