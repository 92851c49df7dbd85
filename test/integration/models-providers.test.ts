import { afterEach, describe, expect, it } from "vitest";
import type { ModelMessage, ToolSchema } from "../../agent-server/models/models.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { Script, Turn } from "../support/model-server/turn.ts";
import { ask, createModelsFixture, failure, type Answer, type ModelsFixture } from "../support/models-fixture.ts";

const kinds = ["anthropic", "openai", "gemini", "xai", "openai_compatible"] as const;
type Kind = (typeof kinds)[number];
const names: Record<Kind, string> = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6.1-sol",
  gemini: "gemini-3.8-flash",
  xai: "grok-4.20",
  openai_compatible: "some-model",
};
const keys = { ANTHROPIC_API_KEY: "key-a", OPENAI_API_KEY: "key-o", GEMINI_API_KEY: "key-g", XAI_API_KEY: "key-x" };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function start(script: Script, more: Partial<Parameters<typeof startModelServer>[0]> = {}): Promise<ModelServer> {
  const server = await startModelServer({ script, ...more });
  open.push(server);
  return server;
}

function fixture(
  server: ModelServer,
  kind: Kind,
  options: Parameters<typeof createModelsFixture>[0] = {},
  model = names[kind],
): ModelsFixture {
  const made = createModelsFixture({ yaml: configFor(server, kind, model), keys, ...options });
  open.push(made);
  return made;
}

function configFor(server: ModelServer, kind: Kind, model: string): string {
  return `
active: work
providers:
  work:
    kind: ${kind}
    display_name: Our cluster
    base_url: "${server.url(kind)}"
    fast: { model: ${model}, max_tokens: 8192, temperature: 0.3 }
    deep: { model: ${model}, max_tokens: 16384, temperature: 0.7, thinking: { enabled: true, budget_tokens: 10000 } }
`;
}

const tools: ToolSchema[] = ["read_file", "list_files"].map((name) => ({
  name,
  description: `The tool ${name}`,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      options: { type: "object", properties: { depth: { type: ["integer", "null"] } }, additionalProperties: false },
    },
    required: ["path"],
    additionalProperties: false,
    $schema: "https://json-schema.org/draft/2020-12/schema",
  },
}));
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const toolTurn: Turn = {
  thinking: "The owner wants both files — ich prüfe sie 🔍 first.",
  text: "Ich lese beide Dateien: 日本語 🛡️ …",
  toolCalls: [
    { name: "read_file", args: { path: "src/größe.ts", options: { depth: 2 } } },
    { name: "list_files", args: { path: "docs/日本 🛡️" } },
  ],
  usage: { inputTokens: 1200, outputTokens: 90, cachedInputTokens: 1000, reasoningTokens: 40 },
};
const first: ModelMessage = {
  role: "user",
  content: [
    { type: "text", text: "What do these files say?" },
    { type: "image", mediaType: "image/png", data: pixel },
  ],
};

function results(answer: Answer): ModelMessage {
  const calls = answer.done.content.filter((part) => part.type === "tool_call");
  return {
    role: "tool",
    results: calls.map((call, index) => ({ callId: call.id, name: call.name, text: `result ${index}`, isError: index === 1 })),
  };
}

describe.each(kinds)("a task over %s", (kind) => {
  it("streams thinking and text, calls two tools at once, replays them, and answers", async () => {
    const server = await start(inOrder(toolTurn, { text: "Both are fine." }));
    const { models, receipts } = fixture(server, kind);
    const system = "You are Lancelot.";

    const asked = await ask(models, { system, messages: [first], tools, lane: "deep" });
    expect(asked.text).toBe(toolTurn.text);
    expect(asked.thinking).toBe(toolTurn.thinking);
    expect(asked.events.filter((event) => event.type === "text").length).toBeGreaterThan(1);
    expect(asked.done.stop).toBe("tool_calls");
    expect(asked.done.malformed).toEqual([]);
    expect(asked.done.usage).toMatchObject(toolTurn.usage ?? {});
    expect(asked.done.content.flatMap((part) => (part.type === "tool_call" ? [[part.name, part.args]] : []))).toEqual(
      toolTurn.toolCalls?.map((call) => [call.name, call.args]),
    );

    // A round trip through the database keeps the answer replayable.
    const stored = JSON.parse(JSON.stringify(asked.done.content)) as typeof asked.done.content;
    const messages: ModelMessage[] = [first, { role: "assistant", content: stored }, results(asked)];
    const answered = await ask(models, { system, messages, tools, lane: "deep" });
    expect(answered.text).toBe("Both are fine.");
    expect(answered.done.stop).toBe("end");

    const seen = server.requests[1];
    expect(seen?.model).toBe(names[kind]);
    expect(seen?.system).toBe(system);
    expect(seen?.tools).toEqual(tools.map((tool) => ({ name: tool.name, schema: expect.objectContaining({ required: ["path"] }) })));
    expect(seen?.messages[0]).toMatchObject({ role: "user", text: "What do these files say?", images: [pixel] });
    expect(seen?.messages[1]?.text).toBe(toolTurn.text);
    expect(seen?.messages[1]?.toolCalls.map(({ name, args }) => ({ name, args }))).toEqual(toolTurn.toolCalls);
    const given = seen?.messages.filter(({ role }) => role === "tool").flatMap(({ toolResults }) => toolResults);
    expect(given?.map(({ text }) => text)).toEqual(["result 0", "result 1"]);
    if (kind === "anthropic" || kind === "gemini") expect(given?.map(({ isError }) => isError)).toEqual([false, true]);
    expect(seen?.messages[1]?.thinking.length).toBe(1);
    expect(seen?.key).toBe(kind === "openai_compatible" ? null : keys[`${kind.toUpperCase()}_API_KEY` as keyof typeof keys]);

    expect(receipts().map(({ status, actionName, tokenCount }) => ({ status, actionName, tokenCount }))).toEqual([
      { status: "success", actionName: `work/${names[kind]}`, tokenCount: 1290 },
      { status: "success", actionName: `work/${names[kind]}`, tokenCount: 30 },
    ]);
    expect(receipts()[0]?.metadata).toMatchObject({
      provider: "work",
      model: names[kind],
      lane: "flagship_deep",
      attempt: 1,
      usage: toolTurn.usage,
    });
  });

  it("closes the connection when nobody listens any more", async () => {
    const server = await start(inOrder({ text: "A long answer that goes on and on and on", fault: "hang_midway" }));
    const { models, receipts } = fixture(server, kind);
    const signal = new AbortController().signal;
    for await (const event of models.stream({ system: "", messages: [first], tools: [] }, { questId: null, parentId: null, signal }))
      if (event.type === "text") break;
    await server.closed(1);
    expect(receipts().map(({ status }) => status)).toEqual(["cancelled"]);
  });

  it("lists every page of models, with the configured one", async () => {
    const models = Array.from({ length: 7 }, (_, index) => `listed-${index}`);
    const server = await start(inOrder({}), { models, pageSize: 3 });
    const made = fixture(server, kind);
    const { items, providers, problem } = await made.models.list("work", new AbortController().signal);
    expect(items.map(({ model }) => model)).toEqual([...models, names[kind]]);
    expect(items.filter(({ active }) => active).map(({ model }) => model)).toEqual([names[kind]]);
    expect(providers).toEqual([{ provider: "work", kind, displayName: "Our cluster", active: true, hasKey: true, problem: null }]);
    expect(problem).toBeNull();
  });

  it("says that the key is refused, in a list too", async () => {
    const server = await start(inOrder({}), { keys: ["another"] });
    const { models, receipts } = fixture(server, kind);
    const error = await failure(ask(models, {}));
    const sentence = "API key";
    expect(error.message).toContain(sentence);
    expect(error.data).toMatchObject({ action: "set_key", retryable: false });
    expect(receipts().length).toBe(1);
    const { providers } = await models.list("work", new AbortController().signal);
    expect(providers[0]?.problem).toContain(sentence);
  });
});

describe("a conversation that changes hands", () => {
  it.each(kinds.flatMap((from) => kinds.filter((to) => to !== from).map((to) => [from, to] as const)))(
    "goes from %s to %s in the middle of a tool loop",
    async (from, to) => {
      const server = await start(inOrder(toolTurn, { text: "Done." }));
      const asked = await ask(fixture(server, from).models, { tools, messages: [first], lane: "deep" });
      const messages: ModelMessage[] = [first, { role: "assistant", content: asked.done.content }, results(asked)];
      const answered = await ask(fixture(server, to).models, { tools, messages, lane: "deep" });
      expect(answered.text).toBe("Done.");
      const thinking = server.requests[1]?.messages.flatMap((message) => message.thinking) ?? [];
      expect(thinking).toEqual(to === "gemini" ? [{ thoughtSignature: "skip_thought_signature_validator" }] : []);
    },
  );

  it("leaves the thinking of an older Claude off for a loop another provider began", async () => {
    const server = await start(inOrder(toolTurn, { text: "Done." }, toolTurn, { text: "Done again." }));
    const asked = await ask(fixture(server, "openai").models, { tools, messages: [first], lane: "deep" });
    const messages: ModelMessage[] = [first, { role: "assistant", content: asked.done.content }, results(asked)];
    const { models } = fixture(server, "anthropic", {}, "claude-haiku-4-5");
    expect((await ask(models, { tools, messages, lane: "deep" })).text).toBe("Done.");
    const own = await ask(models, { tools, messages: [first], lane: "deep" });
    const replayed: ModelMessage[] = [first, { role: "assistant", content: own.done.content }, results(own)];
    expect((await ask(models, { tools, messages: replayed, lane: "deep" })).text).toBe("Done again.");
    expect(server.requests[3]?.raw["thinking"]).toEqual({ type: "enabled", budget_tokens: 10_000 });
  });
});

it("returns thinking that Claude withheld", async () => {
  const server = await start(
    inOrder({ redactedThinking: true, toolCalls: [{ name: "read_file", args: { path: "a" } }] }, { text: "Done." }),
  );
  const { models } = fixture(server, "anthropic");
  const asked = await ask(models, { tools, messages: [first], lane: "deep" });
  const messages: ModelMessage[] = [first, { role: "assistant", content: asked.done.content }, results(asked)];
  expect((await ask(models, { tools, messages, lane: "deep" })).text).toBe("Done.");
  expect(server.requests[1]?.messages[1]?.thinking).toMatchObject([{ type: "redacted_thinking" }]);
});

it("sends no secret to a provider", async () => {
  const server = await start(inOrder({ text: "ok" }));
  const { models } = fixture(server, "anthropic");
  const secret = `sk-ant-api03-${"Ab3dEf6h".repeat(11)}AA`;
  await ask(models, { message: `Is this right? ANTHROPIC_API_KEY=${secret}` });
  expect(JSON.stringify(server.requests[0]?.raw)).not.toContain(secret);
});

describe("a local server in place of the embedded model", () => {
  it("answers with the first model it offers, without a key, as a small one", async () => {
    const server = await start(inOrder({ text: "from here" }), { models: ["loaded-model", "other"] });
    const made = createModelsFixture({ yaml: `local: { url: "${server.url("openai_compatible")}" }\n` });
    open.push(made);
    expect(await made.models.active()).toMatchObject({ provider: "local", kind: "local", model: "loaded-model", small: true });
    expect((await ask(made.models, {})).text).toBe("from here");
    expect(server.requests[0]).toMatchObject({ model: "loaded-model", key: null });
  });

  it("says so when it has no model", async () => {
    const server = await start(inOrder({}), { models: [] });
    const made = createModelsFixture({ yaml: `local: { url: "${server.url("openai_compatible")}" }\n` });
    open.push(made);
    expect(await failure(ask(made.models, {}))).toMatchObject({ code: "unavailable" });
  });
});
