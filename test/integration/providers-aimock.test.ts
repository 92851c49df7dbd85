import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelMessage, ToolSchema } from "../../agent-server/models/request.ts";
import { createProvider } from "../../agent-server/models/provider-selection.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { failure } from "../support/models-fixture.ts";
import { collect, connect, subjects, type Subject } from "../support/providers/subjects.ts";

// A second opinion on the wire formats: a server that others wrote and check against the real services.

const paths: Record<Subject["mount"], string> = { anthropic: "", openai: "/v1", gemini: "/v1beta", xai: "/v1", openai_compatible: "/v1" };
const thought = "They want to know what both files hold.";
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
    { content: text, reasoning: thought, toolCalls: calls.map(({ name, args }) => ({ name, arguments: JSON.stringify(args) })) },
  );
  mock.on({ userMessage: "What do these files say?", hasToolResult: true }, { content: "Both are fine." });
  mock.on({ userMessage: "Fail" }, { error: { message: "down", type: "server_error" }, status: 503 });
  await mock.start();
});
afterAll(async () => {
  await mock.stop();
});

describe.each(subjects)("$name by $mode against aimock", (subject) => {
  const { model } = subject;
  const provider = () => createProvider(connect(subject, `${mock.url}${paths[subject.mount]}`));
  const thinking = { enabled: true, budgetTokens: 8000 };

  it("does a task with thinking and two tools at once", async () => {
    const asked: ModelMessage = { role: "user", content: [{ type: "text", text: "What do these files say?" }] };
    const first = await collect(provider(), { system: "You are Lancelot.", messages: [asked], tools }, { model, thinking });
    expect([first.text, first.thinking, first.done.stop]).toEqual([text, thought, "tool_calls"]);
    expect(first.calls.map(({ name, args }) => ({ name, args }))).toEqual(calls);
    const results = first.calls.map(({ id, name }) => ({ callId: id, name, text: `${name} done`, isError: false }));
    const messages: ModelMessage[] = [asked, { role: "assistant", content: first.done.content }, { role: "tool", results }];
    const second = await collect(provider(), { messages, tools }, { model, thinking });
    expect([second.text, second.done.stop]).toEqual(["Both are fine.", "end"]);
  });

  it("words a failure", async () => {
    const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: "Fail" }] }];
    const error = await failure(collect(provider(), { messages }, { model }));
    expect(error.message).toBe("Our cluster is overloaded (503).");
    expect(error.data).toMatchObject({ retryable: true });
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
    const server = await startModelServer({ script: inOrder({ thinking: thought, text, toolCalls: calls }) });
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
