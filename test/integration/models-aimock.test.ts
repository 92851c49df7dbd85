import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelMessage, ToolSchema } from "../../agent-server/models/models.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { ask, createModelsRoom, failure, type ModelsRoom } from "../support/models-room.ts";

// A second opinion on the wire formats: a server that others wrote and check against the real services.

const kinds = [
  ["anthropic", "claude-sonnet-5-5", ""],
  ["openai", "gpt-6.1-sol", "/v1"],
  ["gemini", "gemini-3.8-flash", "/v1beta"],
  ["xai", "grok-4.20", "/v1"],
  ["openai_compatible", "some-model", "/v1"],
] as const;
const keys = { ANTHROPIC_API_KEY: "key-a", OPENAI_API_KEY: "key-o", GEMINI_API_KEY: "key-g", XAI_API_KEY: "key-x" };
const thinking = "They want to know what both files hold.";
const text = "Ich lese beide Dateien: größe.ts und 日本.md 🛡️.";
const calls = [
  { name: "read_file", args: { path: "src/größe.ts" } },
  { name: "list_files", args: { path: "docs", depth: 2 } },
];
const tools: ToolSchema[] = calls.map(({ name }) => ({
  name,
  description: name,
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}));

let mock: LLMock;
beforeAll(async () => {
  mock = new LLMock({ port: 0 });
  mock.on(
    { userMessage: "What do these files say?", hasToolResult: false },
    { content: text, reasoning: thinking, toolCalls: calls.map(({ name, args }) => ({ name, arguments: JSON.stringify(args) })) },
  );
  mock.on({ userMessage: "What do these files say?", hasToolResult: true }, { content: "Both are fine." });
  mock.on({ userMessage: "Fail" }, { error: { message: "down", type: "server_error" }, status: 503 });
  await mock.start();
});
afterAll(async () => {
  await mock.stop();
});

async function withRoom(kind: string, model: string, path: string, work: (room: ModelsRoom) => Promise<void>): Promise<void> {
  const yaml = `
active: work
providers:
  work:
    kind: ${kind}
    base_url: "${mock.url}${path}"
    fast: { model: ${model} }
    deep: { model: ${model}, max_tokens: 16384, thinking: { enabled: true } }
`;
  const room = createModelsRoom({ yaml, keys });
  try {
    await work(room);
  } finally {
    await room.close();
  }
}

describe.each(kinds)("%s against aimock", (kind, model, path) => {
  it("does a task with thinking and two tools at once", async () => {
    await withRoom(kind, model, path, async ({ models }) => {
      const asked: ModelMessage = { role: "user", content: [{ type: "text", text: "What do these files say?" }] };
      const first = await ask(models, { system: "You are Lancelot.", messages: [asked], tools, lane: "deep" });
      expect(first.text).toBe(text);
      expect(first.thinking).toBe(thinking);
      expect(first.done.stop).toBe("tool_calls");
      const made = first.done.content.filter((part) => part.type === "tool_call");
      expect(made.map(({ name, args }) => ({ name, args }))).toEqual(calls);
      const results: ModelMessage = {
        role: "tool",
        results: made.map(({ id, name }) => ({ callId: id, name, text: `${name} done`, isError: false })),
      };
      const second = await ask(models, {
        messages: [asked, { role: "assistant", content: first.done.content }, results],
        tools,
        lane: "deep",
      });
      expect(second.text).toBe("Both are fine.");
      expect(second.done.stop).toBe("end");
    });
  });

  it("words a failure", async () => {
    await withRoom(kind, model, path, async ({ models, waits }) => {
      expect((await failure(ask(models, { words: "Fail" }))).message).toContain("overloaded (503). Tried 4 times");
      // Three of the fast model, three of the stronger one that tried after it.
      expect(waits.length).toBe(6);
    });
  });
});

describe("our model server sends what aimock sends", () => {
  const question = "What do these files say?";
  it.each<[string, string, Parameters<Awaited<ReturnType<typeof startModelServer>>["url"]>[0], Record<string, unknown>]>([
    [
      "/v1/messages",
      "/v1/messages",
      "anthropic",
      { model: "claude-sonnet-5-5", max_tokens: 100, messages: [{ role: "user", content: question }] },
    ],
    [
      "/v1/chat/completions",
      "/chat/completions",
      "openai_compatible",
      { model: "m", stream_options: { include_usage: true }, messages: [{ role: "user", content: question }] },
    ],
    [
      "/v1/responses",
      "/responses",
      "openai",
      {
        model: "gpt-6.1-sol",
        include: ["reasoning.encrypted_content"],
        input: [{ role: "user", content: [{ type: "input_text", text: question }] }],
      },
    ],
    [
      "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
      "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
      "gemini",
      { contents: [{ role: "user", parts: [{ text: question }] }] },
    ],
  ])("%s", async (theirs, path, kind, body) => {
    const server = await startModelServer({ script: inOrder({ thinking, text, toolCalls: calls }) });
    try {
      const [known, sent] = await Promise.all([shapeOf(`${mock.url}${theirs}`, body), shapeOf(`${server.url(kind)}${path}`, body)]);
      expect(known.size).toBeGreaterThan(5);
      expect([...known].filter((field) => !sent.has(field))).toEqual([]);
    } finally {
      await server.close();
    }
  });
});

/** Every event and field of a stream, without its values. */
async function shapeOf(url: string, body: Record<string, unknown>): Promise<Set<string>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer key", "x-api-key": "key", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const fields = new Set<string>();
  const walk = (value: unknown, path: string): void => {
    // The arguments of a call are its own, and few servers tell probabilities.
    if (/\.(args|logprobs)$/.test(path)) return;
    fields.add(path);
    if (Array.isArray(value)) for (const item of value) walk(item, `${path}[]`);
    else if (typeof value === "object" && value !== null) for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`);
  };
  for (const event of (await response.text()).split("\n\n")) {
    const name = /^event: (.*)$/m.exec(event)?.[1] ?? "";
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data !== undefined && data !== "[DONE]") walk(JSON.parse(data), name);
  }
  return fields;
}
