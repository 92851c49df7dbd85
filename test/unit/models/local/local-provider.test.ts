import { expect, it } from "vitest";
import { noUsage } from "../../../../agent-server/contract/chat.ts";
import type { Done, GenerateReply } from "../../../../agent-server/models/local/model-protocol.ts";
import type { ModelProcess } from "../../../../agent-server/models/local/model-process.ts";
import { createLocalProvider } from "../../../../agent-server/models/local/local-provider.ts";
import type { ModelEvent, ToolSchema } from "../../../../agent-server/models/models.ts";

const tools: ToolSchema[] = [
  {
    name: "read_file",
    description: "Reads.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];
const call = { model: "m", maxTokens: 100, temperature: undefined, thinking: undefined };

async function answer(pieces: string[], done: Partial<Done> = {}, withTools = true): Promise<ModelEvent[]> {
  const process: ModelProcess = {
    ready: () => Promise.resolve({ type: "loaded", contextSize: 2_048, gpuLayers: 0, gpu: null, memoryBytes: 1 }),
    health: () => null,
    unload: () => Promise.resolve(),
    pid: () => undefined,
    close: () => Promise.resolve(),
    async *generate(): AsyncGenerator<GenerateReply, void> {
      for (const text of pieces) yield { type: "text", id: 1, text };
      yield {
        type: "done",
        id: 1,
        stop: "end",
        inputTokens: 10,
        cachedTokens: 4,
        outputTokens: 3,
        promptMs: 1,
        generateMs: 1,
        memoryBytes: 1,
        leftOut: { toolOutputs: 0, turns: 0 },
        ...done,
      };
      await Promise.resolve();
    },
  };
  const provider = createLocalProvider({
    process,
    card: () => Promise.resolve({ file: "m.gguf", name: "M", contextWindow: 2_048, small: true }),
    newCallId: () => "id",
  });
  const events: ModelEvent[] = [];
  const request = { system: "", messages: [], tools: withTools ? tools : [] };
  for await (const event of provider.stream(request, call, new AbortController().signal)) events.push(event);
  return events;
}

const last = (events: ModelEvent[]) => events.at(-1);
const streamed = (events: ModelEvent[]) => events.map((event) => (event.type === "text" ? event.text : "")).join("");

it("streams words and ends with the whole answer", async () => {
  const events = await answer(["It adds ", "prices."]);
  expect(events.slice(0, 2)).toEqual([
    { type: "text", text: "It adds" },
    { type: "text", text: " prices." },
  ]);
  expect(last(events)).toEqual({
    type: "done",
    content: [{ type: "text", text: "It adds prices." }],
    malformed: [],
    stop: "end",
    usage: { ...noUsage(), inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 },
  });
});

it("turns a call into a tool call, after the words before it, with nothing of it in the text", async () => {
  const events = await answer(["I look.\n{", '"tool": "read_file", "args": {"path": "a.ts"}}']);
  expect(streamed(events)).toBe("I look.");
  expect(last(events)).toMatchObject({
    stop: "tool_calls",
    content: [
      { type: "text", text: "I look." },
      { type: "tool_call", id: "id", name: "read_file", args: { path: "a.ts" } },
    ],
  });
});

it("hands on a call that was cut off as malformed", async () => {
  const events = await answer(['{"tool": "read_file", "args": {"pa'], { stop: "max_tokens" });
  expect(last(events)).toMatchObject({ stop: "max_tokens", content: [], malformed: [{ id: "id", name: "read_file" }] });
});

it("leaves JSON in a reply without tools alone", async () => {
  const events = await answer(['{"tool": 1}'], {}, false);
  expect(last(events)).toMatchObject({ content: [{ type: "text", text: '{"tool": 1}' }], stop: "end" });
});

it.each<[Partial<Done>, string[], string]>([
  [
    { leftOut: { toolOutputs: 2, turns: 1 } },
    ["Yes."],
    "Yes.\n\n[Note: 2 tool outputs were shortened, 1 earlier message was left out, to fit what this local model can take at once.]",
  ],
  [{ stop: "circles" }, ["Yes. Yes."], "Yes. Yes.\n\n[Note: the model began to repeat itself and was stopped.]"],
  [{}, [], "\n\n[Note: the model gave no answer.]"],
])("says what the owner must know: %j", async (done, pieces, text) => {
  const events = await answer(pieces, done);
  expect(streamed(events)).toBe(text);
  expect(last(events)).toMatchObject({ content: [{ type: "text", text }] });
});
