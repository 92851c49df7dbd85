/**
 * `npm run bench:tasks`: tasks in small real repositories, done by played engineers or by a real model in real hosts.
 *
 *   --engineer NAME   good, clumsy, lying, lazy or malicious; all of them unless said; may be given several times
 *   --provider NAME   a provider of your models.yaml instead (`--data FOLDER` for another data folder; keys come from the environment)
 *   --local           the small local model of the tests instead
 *   --tasks TEXT      only tasks whose id, kind or repository holds the text; --limit N: only so many
 *   --audit           checks the tasks themselves, without any host
 *   --json FILE       where the report goes; test-output/bench-tasks.json unless said
 *
 * Exits with 1 when a violation or an unexpected result was seen.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../../support/setup/project.mjs";
import { repositories, repositoryOf, tasks } from "./all-tasks.ts";
import { auditTask } from "./audit.ts";
import { isExpected } from "./expectations.ts";
import { openHostProcess } from "./host-process.ts";
import { tables } from "./report.ts";
import { runTask, type Worker } from "./run-task.ts";
import { sourceFolder } from "./sources.ts";
import { type BenchTask, engineers, type Outcome } from "./types.ts";
import { localWorker, providerWorker } from "./workers.ts";

/** Hosts at a time. */
const together = 2;

const { values } = parseArgs({
  options: {
    engineer: { type: "string", multiple: true },
    provider: { type: "string" },
    data: { type: "string" },
    local: { type: "boolean", default: false },
    tasks: { type: "string", default: "" },
    limit: { type: "string" },
    audit: { type: "boolean", default: false },
    json: { type: "string", default: join(root, "test-output/bench-tasks.json") },
  },
});

async function chosenWorkers(): Promise<Worker[]> {
  if (values.provider !== undefined) return [providerWorker(values.provider, values.data)];
  if (values.local) return [await localWorker()];
  const unknown = (values.engineer ?? []).filter((name) => !engineers.some((engineer) => engineer === name));
  if (unknown.length > 0) throw new Error(`There is no engineer ${unknown.join(", ")}; engineers are ${engineers.join(", ")}.`);
  return engineers.filter((engineer) => values.engineer?.includes(engineer) ?? true).map((engineer) => ({ engineer }));
}

/** The tasks that were asked for, without those whose repository cannot be had here; those are named. */
async function chosenTasks(): Promise<BenchTask[]> {
  const wanted = tasks
    .filter(({ id, kind, repository }) => [id, kind, repository].some((text) => text.includes(values.tasks)))
    .slice(0, values.limit === undefined ? undefined : Number(values.limit));
  const missing = new Set<string>();
  for (const { name, source } of repositories.filter((repository) => wanted.some((task) => task.repository === repository.name))) {
    await sourceFolder(source).catch((error: unknown) => {
      missing.add(name);
      console.error(`Left out: ${name}, which cannot be fetched. ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
    });
  }
  return wanted.filter(({ repository }) => !missing.has(repository));
}

/** Runs the jobs, some at a time. */
async function inPairs<Job>(jobs: readonly Job[], work: (job: Job, index: number) => Promise<void>): Promise<void> {
  const queue = jobs.entries();
  const lane = async (): Promise<void> => {
    for (const [index, job] of queue) await work(job, index);
  };
  await Promise.all(Array.from({ length: together }, lane));
}

async function audit(chosen: readonly BenchTask[]): Promise<boolean> {
  let isRight = true;
  await inPairs(chosen, async (task) => {
    const problem = await auditTask(task).catch((error: unknown) => String(error));
    if (problem === null) return;
    isRight = false;
    console.log(`${task.id}: ${problem}`);
  });
  console.log(`${chosen.length} tasks in ${new Set(chosen.map(({ repository }) => repository)).size} repositories checked`);
  return isRight;
}

/** After each task, so that a run that is stopped leaves its report. */
function save(outcomes: readonly Outcome[]): void {
  const file = resolve(values.json);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ date: new Date().toISOString(), outcomes }, null, 2)}\n`);
}

async function measure(chosen: readonly BenchTask[], workers: readonly Worker[]): Promise<boolean> {
  const outcomes: Outcome[] = [];
  const jobs = workers.flatMap((worker) => chosen.map((task, number) => ({ worker, task, number })));
  await inPairs(jobs, async ({ worker, task, number }) => {
    const outcome = await runTask(task, { repository: repositoryOf(task), worker, number, openHost: openHostProcess });
    outcomes.push(outcome);
    save(outcomes);
    const isBad = outcome.violations.length > 0 || !isExpected(outcome);
    const notes = [...outcome.violations.map((text) => `violation: ${text}`), ...(isBad ? outcome.notes : [])].join("; ");
    const told = `${outcome.solved ? "solved" : "not solved"}, ${outcome.calls} calls, ${outcome.seconds.toFixed(1)} s`;
    console.log(`${isBad ? "UNEXPECTED " : ""}${outcome.engineer} ${task.id}: ${told}${notes === "" ? "" : ` (${notes})`}`);
  });
  console.log(`\n${tables(outcomes)}`);
  return outcomes.every((outcome) => outcome.violations.length === 0 && isExpected(outcome));
}

const chosen = await chosenTasks();
const isRight = values.audit ? await audit(chosen) : await measure(chosen, await chosenWorkers());
process.exitCode = isRight && chosen.length > 0 ? 0 : 1;
