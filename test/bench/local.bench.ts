import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { replyGrammar } from "../../agent-server/models/local/grammar.ts";
import { createModelProcess, type ModelProcess } from "../../agent-server/models/local/model-process.ts";
import { systemText } from "../../agent-server/models/local/prompt.ts";
import { createLocalProvider } from "../../agent-server/models/local/local-provider.ts";
import { createRuntime } from "../../agent-server/models/local/runtime.ts";
import type { ModelRequest, ToolSchema } from "../../agent-server/models/models.ts";
import type { BareAnswer, BareRequest } from "../support/models/bare-llama.ts";
import { localDataDir, prepareLocalModel } from "../support/models/local-models.ts";
import { storiesModel } from "../support/models/stories-model.ts";
import type { BenchRow } from "./bench-row.ts";

const threads = 1;
const contextSize = 2_048;
const path = { type: "string" };
const tools: ToolSchema[] = [
  { name: "read_file", description: "Reads a file.", parameters: { type: "object", properties: { path }, required: ["path"] } },
  { name: "list_files", description: "Lists files.", parameters: { type: "object", properties: { path } } },
];

/**
 * The lane (provider, process, pipe, streaming) against bare node-llama-cpp in a process of its own: same model, prompt, threads, sampling
 * and grammar, in turns, with a prompt neither has in its memory.
 */
export async function* run(): AsyncGenerator<BenchRow> {
  const missing = await prepareLocalModel();
  if (missing !== null) throw new Error(missing);
  const { entry: runtime } = createRuntime(fileURLToPath(new URL("../../config", import.meta.url)), localDataDir);
  yield* measure("stories15M", { runtime, model: await storiesModel(), rounds: 25, maxTokens: 100 });
  yield* measure("TinyLlama 1.1B", {
    runtime,
    model: join(localDataDir, "models/tinyllama-1.1b-chat-IQ2_XXS.gguf"),
    rounds: 9,
    maxTokens: 40,
  });
}

interface Options {
  runtime: string;
  model: string;
  rounds: number;
  maxTokens: number;
}

async function* measure(name: string, { runtime, model, rounds, maxTokens }: Options): AsyncGenerator<BenchRow> {
  const loads: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  const startOurs = async (): Promise<ModelProcess> => {
    const began = performance.now();
    const started = createModelProcess({
      entry: fileURLToPath(new URL("../../dist/host/local-model.js", import.meta.url)),
      env: process.env,
      idleMs: 600_000,
      backoffMs: 500,
      load: () => ({ type: "load", runtime, model, stamp: "", contextSize, threads, gpu: false, gpuLayers: null }),
      onChange: () => undefined,
    });
    await started.ready(new AbortController().signal);
    loads.ours.push(performance.now() - began);
    return started;
  };
  const startBare = async (): Promise<ChildProcess> => {
    const began = performance.now();
    const entry = fileURLToPath(new URL("../support/models/bare-llama.ts", import.meta.url));
    const child = fork(entry, [runtime, model, String(contextSize), String(threads)], { execArgv: [] });
    await once(child, "message");
    loads.bare.push(performance.now() - began);
    return child;
  };
  for (let round = 0; round < 2; round++) {
    await (await startOurs()).close();
    (await startBare()).kill("SIGKILL");
  }
  const ours = await startOurs();
  const bare = await startBare();
  const card = { file: "", name, contextWindow: contextSize, small: false };
  const provider = createLocalProvider({ process: ours, card: () => Promise.resolve(card), newCallId: () => "call" });

  async function askOurs(request: ModelRequest): Promise<BareAnswer> {
    const started = performance.now();
    let firstMs = 0;
    let text = "";
    const call = { model: "", maxTokens, temperature: 0, thinking: undefined };
    for await (const event of provider.stream(request, call, new AbortController().signal)) {
      if (event.type === "text") {
        if (firstMs === 0) firstMs = performance.now() - started;
        text += event.text;
      }
      if (event.type === "done") return { text, tokens: event.usage.outputTokens, firstMs, lastMs: performance.now() - started };
    }
    throw new Error("the stream had no end");
  }
  async function askBare(request: BareRequest): Promise<BareAnswer> {
    bare.send(request);
    const [result] = (await once(bare, "message")) as [BareAnswer];
    return result;
  }

  try {
    for (const withGrammar of [false, true]) {
      const offered = withGrammar ? tools : [];
      const results: { ours: BareAnswer[]; bare: BareAnswer[] } = { ours: [], bare: [] };
      const processor: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
      for (let round = -2; round < rounds; round++) {
        const user = `${round + 3} things happened. Tell a long story about a girl, her dog and a big tree in the park.`;
        const request: ModelRequest = { system: "", messages: [{ role: "user", content: [{ type: "text", text: user }] }], tools: offered };
        const grammar = withGrammar ? replyGrammar(tools) : null;
        const before = { ours: processorMs(ours.pid()), bare: processorMs(bare.pid) };
        const [mine, theirs] = [
          await askOurs(request),
          await askBare({ system: systemText("", offered, false), user, grammar, maxTokens }),
        ];
        if (mine.tokens !== theirs.tokens) throw new Error(`not the same work: ${mine.tokens} and ${theirs.tokens} tokens`);
        if (round < 0) continue;
        results.ours.push(mine);
        results.bare.push(theirs);
        processor.ours.push((processorMs(ours.pid()) - before.ours) / mine.tokens);
        processor.bare.push((processorMs(bare.pid) - before.bare) / theirs.tokens);
      }
      const what = `${name}, ${withGrammar ? "with a grammar" : "free"}`;
      const median = (of: (answer: BareAnswer) => number) => ({ ours: middle(results.ours.map(of)), bare: middle(results.bare.map(of)) });
      const load = `${middle(results.ours.map(({ tokens }) => tokens))} tokens, load ${loadavg()[0]?.toFixed(1)}`;
      yield* [
        row(
          `tokens a second while it writes, ${what}`,
          "tokens/s",
          median(({ tokens, firstMs, lastMs }) => ((tokens - 1) * 1_000) / (lastMs - firstMs)),
          load,
        ),
        row(
          `tokens a second, whole request, ${what}`,
          "tokens/s",
          median(({ tokens, lastMs }) => (tokens * 1_000) / lastMs),
          load,
        ),
        // What other programs take of the machine is not in it.
        row(`processor time a token, ${what}`, "ms", { ours: middle(processor.ours), bare: middle(processor.bare) }),
        row(
          `first token, ${what}`,
          "ms",
          median(({ firstMs }) => firstMs),
          "prompt not in memory",
        ),
      ];
    }
    yield row(`start and load, ${name}`, "ms", { ours: middle(loads.ours), bare: middle(loads.bare) });
    if (process.platform === "linux")
      yield row(`memory of the process, ${name}`, "MB", { ours: memory(ours.pid()), bare: memory(bare.pid) });
  } finally {
    await ours.close();
    bare.kill("SIGKILL");
  }
}

function row(name: string, unit: string, { ours, bare }: { ours: number; bare: number }, note?: string): BenchRow {
  return { name, ours, bare, ratio: ours / bare, unit, ...(note !== undefined && { note }) };
}

function middle(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Time all threads of a process computed, in ms; 0 where the system does not tell. */
function processorMs(pid: number | undefined): number {
  if (process.platform !== "linux") return 0;
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce(
    (sum, task) => sum + Number(readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ")[0]) / 1e6,
    0,
  );
}

/** Resident memory in MB. */
function memory(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_000;
}
