import { readdirSync, readFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/**
 * The mutation score of the command engine in minutes: `node test/support/mutation/commands.ts [FILE.ts…]`, with `--survivors` each
 * mutant that is left. The mutants are Stryker's (its instrumenter puts all of them into the code, to be switched on one at a time);
 * each is tried in one process on the rows of test/fixtures/commands, and is killed when one of them is judged otherwise, which is
 * what command-judgements.test.ts and command-constructs.test.ts notice. What other tests notice is not counted. As with
 * `ignoreStatic`, what runs only while a module or the table is loaded is left out.
 */
const folder = join(import.meta.dirname, "../../../agent-server/governance/policy/commands");

/** How long a mutant may think about one row, in milliseconds, before it counts as timed out. */
const patience = 15_000;

interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: { readonly line: number } };
}

type Outcome = "killed" | "timeout" | "survived" | "uncovered" | "static";

interface Instrumented {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly mutants: readonly Mutant[];
}

type Instrument = (files: readonly { name: string; mutate: true; content: string }[], options: object) => Promise<Instrumented>;

async function instrument(): Promise<Instrumented> {
  const core = createRequire(createRequire(import.meta.url).resolve("@stryker-mutator/core/package.json"));
  const { Instrumenter } = core("@stryker-mutator/instrumenter") as {
    Instrumenter: new (logger: object) => { instrument: Instrument };
  };
  const quiet = () => undefined;
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ name: join(folder, name), mutate: true as const, content: readFileSync(join(folder, name), "utf8") }));
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  return new Instrumenter({ debug: quiet, info: quiet, warn: quiet, isDebugEnabled: () => false }).instrument(files, options);
}

/** The switch that Stryker's instrumented code looks at. */
interface Switch {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number;
  mutantCoverage: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

async function tryMutants(wanted: readonly string[], done: readonly string[]): Promise<void> {
  const { files, mutants } = await instrument();
  const sources = new Map(files.map(({ name, content }) => [pathToFileURL(name).href, content]));
  registerHooks({
    load: (url, context, next) => {
      const source = sources.get(url);
      return source === undefined ? next(url, context) : { format: "module-typescript", source, shortCircuit: true };
    },
  });
  const state: Switch = { mutantCoverage: { static: {}, perTest: {} } };
  Object.assign(globalThis, { __stryker__: state });
  const { commandCases } = await import("../command-cases.ts");
  const { constructs } = await import("../command-constructs.ts");
  const { judgedBlock, judgedLine } = await import("../command-judged.ts");
  const { projectFiles } = await import("../command-projects.ts");
  const { createCommandWorkspace } = await import("../command-workspace.ts");
  const plain = await createCommandWorkspace();
  const projects = await createCommandWorkspace(projectFiles);
  const rows = [
    ...commandCases.map(
      ({ command, cwd }) =>
        () =>
          judgedLine(plain.judge(command, cwd)),
    ),
    ...[...constructs.values()].flat().map(
      ({ command, cwd }) =>
        () =>
          judgedBlock(projects.judge(command, cwd), projects.base),
    ),
  ].map((judge) => ({ judge, recorded: "", kills: 0, hits: {} as Readonly<Record<string, number>> }));
  for (const row of rows) {
    state.mutantCoverage.perTest = {};
    state.currentTestId = "row";
    row.recorded = row.judge();
    row.hits = state.mutantCoverage.perTest["row"] ?? {};
  }
  state.currentTestId = undefined;
  for (const { id, fileName } of mutants) {
    if (done.includes(id) || !wanted.some((name) => fileName.endsWith(`/${name}`))) continue;
    const covering = rows.filter(({ hits }) => hits[id] !== undefined).toSorted((one, other) => other.kills - one.kills);
    parentPort?.postMessage({ id, outcome: null });
    // A loop that a mutant never leaves ends with an error, as in Stryker.
    state.hitLimit = Math.max(0, ...covering.map(({ hits }) => hits[id] ?? 0)) * 100 + 1000;
    const killer = covering.find(({ judge, recorded }) => {
      Object.assign(state, { activeMutant: id, hitCount: 0 });
      try {
        return judge() !== recorded;
      } catch {
        return true;
      } finally {
        Object.assign(state, { activeMutant: undefined, hitCount: undefined });
      }
    });
    if (killer !== undefined) killer.kills += 1;
    const unseen: Outcome = state.mutantCoverage.static[id] === undefined ? "uncovered" : "static";
    const outcome: Outcome = killer !== undefined ? "killed" : covering.length > 0 ? "survived" : unseen;
    parentPort?.postMessage({ id, outcome });
  }
  plain.dispose();
  projects.dispose();
}

/** Tries the mutants in a worker, and in a new one after each that does not come back. */
function outcomesOf(wanted: readonly string[]): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  return new Promise((resolve, reject) => {
    const start = (): void => {
      let current: string | null = null;
      let timer: NodeJS.Timeout | undefined;
      const worker = new Worker(new URL(import.meta.url), { workerData: { wanted, done: [...outcomes.keys()] } });
      worker.on("message", ({ id, outcome }: { id: string; outcome: Outcome | null }) => {
        clearTimeout(timer);
        if (outcome === null) {
          current = id;
          timer = setTimeout(() => void worker.terminate(), patience);
        } else {
          current = null;
          outcomes.set(id, outcome);
        }
      });
      worker.on("error", reject);
      worker.on("exit", () => {
        if (current === null) return resolve(outcomes);
        outcomes.set(current, "timeout");
        start();
      });
    };
    start();
  });
}

async function report(args: readonly string[]): Promise<void> {
  const { mutants } = await instrument();
  const names = [...new Set(mutants.map(({ fileName }) => fileName.slice(folder.length + 1)))];
  const asked = args.filter((arg) => !arg.startsWith("--"));
  const wanted = asked.length > 0 ? asked : names;
  const outcomes = await outcomesOf(wanted);
  const score = (title: string, counted: readonly (Outcome | undefined)[]): void => {
    const count = (outcome: Outcome) => counted.filter((one) => one === outcome).length;
    const killed = count("killed") + count("timeout");
    const all = killed + count("survived") + count("uncovered");
    const share = all === 0 ? "–" : `${((killed / all) * 100).toFixed(1)} %`;
    console.log(`| ${title} | ${count("killed")} | ${count("timeout")} | ${count("survived")} | ${count("uncovered")} | ${share} |`);
  };
  for (const name of wanted)
    score(
      `\`policy/commands/${name}\``,
      mutants.filter(({ fileName }) => fileName.endsWith(`/${name}`)).map(({ id }) => outcomes.get(id)),
    );
  score("all", [...outcomes.values()]);
  if (!args.includes("--survivors")) return;
  for (const { id, fileName, location, mutatorName, replacement } of mutants) {
    const outcome = outcomes.get(id);
    if (outcome === "survived" || outcome === "uncovered")
      console.log(`${outcome} ${fileName.slice(folder.length + 1)}:${location.start.line + 1} ${mutatorName} ${replacement.slice(0, 100)}`);
  }
}

if (isMainThread) await report(process.argv.slice(2));
else {
  const { wanted, done } = workerData as { wanted: readonly string[]; done: readonly string[] };
  await tryMutants(wanted, done);
}
