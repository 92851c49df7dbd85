import { performance } from "node:perf_hooks";
import { Anthropic } from "@anthropic-ai/sdk";
import { OpenAI } from "openai";
import type { ModelMessage, ToolSchema } from "../../agent-server/models/models.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { createModelsFixture } from "../support/models-fixture.ts";
import type { BenchRow } from "./bench-row.ts";

const rounds = 60;
const warmUp = 10;
const model = "some-model";
const key = "key";

/** A conversation of the size of an agent at work: about 60 kB in 41 messages, 13 tools. */
const messages: ModelMessage[] = Array.from({ length: 20 }, (_, index): ModelMessage[] => [
  { role: "user", content: [{ type: "text", text: `Question ${index}: ${"how does this part of the program work? ".repeat(40)}` }] },
  { role: "assistant", content: [{ type: "text", text: `Answer ${index}: ${"const value = compute(index); // as before\n".repeat(35)}` }] },
]).flat();
messages.push({ role: "user", content: [{ type: "text", text: "And now?" }] });
const system = "You are an engineer. ".repeat(200);
const tools: ToolSchema[] = Array.from({ length: 13 }, (_, index) => ({
  name: `tool_${index}`,
  description: "Does something to a file of the workspace.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}));

/** Time to the first text through the models module (selection, redaction, receipt) against the bare SDK, on the same server. */
export async function run(): Promise<BenchRow[]> {
  const server = await startModelServer({ script: () => ({ text: "Here is the first of it." }) });
  const plain = messages.map((message) => ({
    role: message.role === "assistant" ? ("assistant" as const) : ("user" as const),
    content: message.role === "tool" ? "" : message.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
  }));
  const anthropic = new Anthropic({ apiKey: key, baseURL: server.url("anthropic"), maxRetries: 0 });
  const openai = new OpenAI({ apiKey: key, baseURL: server.url("openai_compatible"), maxRetries: 0 });
  const bare = {
    anthropic: async () => {
      const stream = await anthropic.messages.create({
        model,
        max_tokens: 8192,
        stream: true,
        system,
        messages: plain,
        tools: tools.map(({ name, description }) => ({ name, description, input_schema: { type: "object" as const } })),
      });
      for await (const event of stream) if (event.type === "content_block_delta") return performance.now();
      return Number.NaN;
    },
    openai_compatible: async () => {
      const stream = await openai.chat.completions.create({
        model,
        max_tokens: 8192,
        stream: true,
        messages: [{ role: "system", content: system }, ...plain],
        tools: tools.map(({ name, description, parameters }) => ({
          type: "function" as const,
          function: { name, description, parameters },
        })),
      });
      for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") return performance.now();
      return Number.NaN;
    },
  };

  const rows: BenchRow[] = [];
  try {
    for (const [kind, mode] of [
      ["anthropic", "sdk"],
      ["openai_compatible", "sdk"],
      ["anthropic", "api"],
      ["openai_compatible", "api"],
    ] as const) {
      const yaml = `active: work\nproviders: { work: { kind: ${kind}, mode: ${mode}, base_url: "${server.url(kind)}", fast: { model: ${model} } } }\n`;
      const fixture = createModelsFixture({ yaml, keys: { ANTHROPIC_API_KEY: key } });
      const ours = async (): Promise<number> => {
        const signal = new AbortController().signal;
        for await (const event of fixture.models.stream({ system, messages, tools }, { questId: null, parentId: null, signal }))
          if (event.type === "text") return performance.now();
        return Number.NaN;
      };
      try {
        rows.push(await compare(`first token, ${kind}${mode === "api" ? ", plain REST" : ""}`, ours, bare[kind]));
      } finally {
        await fixture.close();
      }
    }
  } finally {
    await server.close();
  }
  return rows;
}

/** Medians of turns taken alternately, so that whatever else the machine does falls on both. Each tells when its first text came. */
async function compare(name: string, ours: () => Promise<number>, bare: () => Promise<number>): Promise<BenchRow> {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = -warmUp; round < rounds; round++)
    for (const [side, work] of [["ours", ours] as const, ["bare", bare] as const]) {
      const start = performance.now();
      const firstText = await work();
      if (round >= 0) times[side].push(firstText - start);
    }
  const [mine, theirs] = [median(times.ours), median(times.bare)];
  return {
    name,
    ours: mine,
    bare: theirs,
    ratio: mine / theirs,
    unit: "ms",
    note: `${(mine - theirs).toFixed(1)} ms added; 60 kB of conversation`,
  };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
