import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { playTasks } from "../support/orchestration/played-model.ts";
import { type PlayedTask, playedTasks, startFile } from "../support/orchestration/played-tasks.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";
import type { BenchRow } from "./bench-row.ts";
import { openHostProcess } from "./tasks/host-process.ts";
import { runAsOwner } from "./tasks/owner.ts";

const flags = ["UNIFIED_CLASSIFICATION", "CLAIM_VERIFICATION", "STRUCTURED_OUTPUT", "DEEP_REASONING_LOOP"] as const;
type Flag = (typeof flags)[number];

/** The flags that are on. The plain loop has none. */
const settings: readonly (readonly [string, readonly Flag[]])[] = [
  ["classification and plans", ["UNIFIED_CLASSIFICATION"]],
  ["verification of answers", ["CLAIM_VERIFICATION"]],
  ["report", ["STRUCTURED_OUTPUT"]],
  ["deep reasoning", ["DEEP_REASONING_LOOP"]],
  ["defaults", ["UNIFIED_CLASSIFICATION", "CLAIM_VERIFICATION", "STRUCTURED_OUTPUT"]],
  ["everything", flags],
];

const folder = "shop";

interface Cost {
  calls: number;
  input: number;
  output: number;
}

/** Four characters are a token, as in the other benches that count tokens. */
function tokensOf(value: unknown): number {
  return Math.ceil((typeof value === "string" ? value : JSON.stringify(value)).length / 4);
}

function inputOf({ raw }: SeenRequest): number {
  return tokensOf([raw["messages"], raw["tools"] ?? [], raw["response_format"] ?? null]);
}

function outputOf({ thinking = "", text = "", toolCalls = [] }: Turn): number {
  return tokensOf(thinking) + tokensOf(text) + (toolCalls.length === 0 ? 0 : tokensOf(toolCalls));
}

/** One task in a host, a workspace and a data folder of its own. @throws Error when it does not end, or its own count is another */
async function costOf(task: PlayedTask, on: readonly Flag[]): Promise<Cost> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "lancelot-bench-cost-")));
  const place = { workspace: join(base, "work"), data: join(base, "data") };
  const cost: Cost = { calls: 0, input: 0, output: 0 };
  const script = playTasks(() => [task]);
  const server = await startModelServer({
    async script(request) {
      const turn = await script(request);
      const usage = { inputTokens: inputOf(request), outputTokens: outputOf(turn), reasoningTokens: tokensOf(turn.thinking ?? "") };
      cost.calls += 1;
      cost.input += usage.inputTokens;
      cost.output += usage.outputTokens;
      return { ...turn, usage };
    },
  });
  try {
    await mkdir(join(place.workspace, folder), { recursive: true });
    await writeFile(join(place.workspace, folder, startFile.name), startFile.text);
    useModelServer(place.data, server.url("openai_compatible"));
    const env = Object.fromEntries(flags.map((flag) => [`FEATURE_${flag}`, String(on.includes(flag))]));
    const host = await openHostProcess({ ...place, env });
    try {
      // The prompt says what the host has found out about its sandbox, so that is awaited.
      await host.call("tools.doctor", {});
      const solution = task.writes.map(({ path, content }) => ({ path, from: null, to: content }));
      const { quest } = await runAsOwner(host, { request: task.request, approves: "T1", acceptsCautioned: true, solution });
      const { inputTokens, outputTokens } = quest.usage;
      if (quest.status !== "done") throw new Error(`${task.id} is ${quest.status}: ${quest.problem ?? ""}`);
      if (inputTokens !== cost.input || outputTokens !== cost.output)
        throw new Error(`${task.id} counted ${inputTokens} and ${outputTokens} tokens, the model ${cost.input} and ${cost.output}`);
    } finally {
      await host.close();
    }
    return cost;
  } finally {
    await server.close();
    await rm(base, { recursive: true, force: true, maxRetries: 5 });
  }
}

const added = (ours: number, bare: number): string => `${ours < bare ? "" : "+"}${ours - bare}`;

/** Calls and tokens of the same tasks with each part of the orchestrator alone and with all, beside the plain loop without any. */
export async function* run(): AsyncIterable<BenchRow> {
  for (const task of playedTasks(folder)) {
    const bare = await costOf(task, []);
    for (const [name, on] of settings) {
      const ours = await costOf(task, on);
      const [total, plain] = [ours.input + ours.output, bare.input + bare.output];
      yield {
        name: `${task.id}, ${name}`,
        ...{ ours: ours.calls, bare: bare.calls, ratio: ours.calls / bare.calls, unit: "calls" },
        note: `${added(ours.calls, bare.calls)} beside the plain loop`,
      };
      yield {
        name: `${task.id}, ${name}`,
        ...{ ours: total, bare: plain, ratio: total / plain, unit: "tokens" },
        note: `input ${added(ours.input, bare.input)}, output ${added(ours.output, bare.output)}`,
      };
    }
  }
}
