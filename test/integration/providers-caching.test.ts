import { afterEach, describe, expect, it } from "vitest";
import { geminiCaches } from "../../agent-server/models/providers/gemini-caches.ts";
import { createServerMemory } from "../../agent-server/models/providers/server-memory.ts";
import type { ModelMessage } from "../../agent-server/models/request.ts";
import { createAccounts } from "../support/model-server/accounts.ts";
import { inOrder } from "../support/model-server/script.ts";
import { ask, createModelsFixture } from "../support/models-fixture.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { playQuest, system, tools } from "../support/providers/long-quest.ts";
import { collect, run, subjects, type Running, type Subject } from "../support/providers/subjects.ts";

const open: Running[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ server }) => server.close()));
});

const of = (...names: string[]): Subject[] => subjects.filter(({ name }) => names.includes(name));

describe.each(of("anthropic", "openai", "xai"))("a quest with $name by $mode", (subject) => {
  it("reads from the second call on what the one before wrote, and pays the rest alone", async () => {
    const { calls } = await playQuest(subject, { calls: 8, cacheKey: "quest-1" });
    const [first, ...rest] = calls;
    expect(first?.cachedInputTokens).toBe(0);
    const writes = subject.name !== "xai";
    if (writes) expect(first?.cacheWriteTokens).toBeGreaterThan(8000);
    for (const [index, { cachedInputTokens, inputTokens, cacheWriteTokens }] of rest.entries()) {
      const before = calls[index]?.inputTokens ?? 0;
      // All of the prompt before, but for what cannot carry a mark.
      expect(cachedInputTokens).toBeGreaterThan(before * 0.97);
      expect(inputTokens - cachedInputTokens).toBeLessThan(1500);
      if (writes) expect(cacheWriteTokens).toBeLessThan(1500);
    }
  });

  it("shares tools and system prompt with another quest where the provider can", async () => {
    const accounts = createAccounts();
    await playQuest(subject, { calls: 2, cacheKey: "quest-1", accounts });
    const { calls } = await playQuest(subject, { calls: 1, cacheKey: "quest-2", accounts });
    // By key it is another machine's memory: OpenAI and xAI are asked by quest, Claude knows no keys.
    expect((calls[0]?.cachedInputTokens ?? 0) > 8000).toBe(subject.name === "anthropic");
  });
});

describe.each(of("gemini"))("an explicit cache of $name by $mode", (subject) => {
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];
  const asked = { system, tools, messages, cacheKey: "quest-1" };

  async function start(accounts = createAccounts(), memory = createServerMemory()) {
    const running = await run(subject, { script: inOrder({ text: "Done." }), accounts }, { memory });
    open.push(running);
    const caches = geminiCaches(memory);
    const again = async (request: Partial<typeof asked> = {}) => {
      const { done } = await collect(running.provider, { ...asked, ...request }, { model: subject.model });
      await caches.settled();
      return done.usage;
    };
    return { ...running, accounts, caches, again };
  }

  it("is made once the server was seen not to cache by itself, used, and taken away at the end", async () => {
    const { server, accounts, caches, again } = await start();
    const usages = [await again(), await again(), await again(), await again()];
    expect(usages.map(({ cachedInputTokens }) => cachedInputTokens > 8000)).toEqual([false, false, true, true]);
    // Making it is paid once, with the first answer it served.
    expect(usages.map(({ cacheWriteTokens }) => cacheWriteTokens > 8000)).toEqual([false, false, true, false]);
    const [, , third] = server.requests;
    expect(third?.raw).toMatchObject({ cachedContent: "cachedContents/c1" });
    expect(third?.raw["systemInstruction"] ?? third?.raw["tools"]).toBeUndefined();
    await caches.release("quest-1");
    expect(accounts.kept.map(({ method, name }) => [method, name])).toEqual([
      ["POST", "cachedContents/c1"],
      ["DELETE", "cachedContents/c1"],
    ]);
  });

  it("is shared by quests that begin alike and kept until the last has ended", async () => {
    const { accounts, caches, again } = await start();
    for (const cacheKey of ["quest-1", "quest-2", "quest-1", "quest-2"]) await again({ cacheKey });
    await caches.release("quest-1");
    expect(accounts.kept.map(({ method }) => method)).toEqual(["POST"]);
    await caches.release("quest-2");
    expect(accounts.kept.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  });

  it("is not made where the server caches by itself, for a small prompt, or for what no quest asks", async () => {
    const byItself = await start(createAccounts({ geminiCachesByItself: true }));
    for (let time = 0; time < 4; time++) await byItself.again();
    const small = await start();
    for (let time = 0; time < 4; time++) await small.again({ system: "S", tools: [] });
    const alone = await start();
    for (let time = 0; time < 4; time++) {
      const { cacheKey: _, ...rest } = asked;
      await collect(alone.provider, rest, { model: subject.model });
      await alone.caches.settled();
    }
    expect([byItself, small, alone].map(({ accounts }) => accounts.kept)).toEqual([[], [], []]);
  });

  it("that the server has lost is done without, and recreated", async () => {
    const { server, accounts, again } = await start();
    for (let time = 0; time < 3; time++) await again();
    accounts.expire();
    expect((await again()).inputTokens).toBeGreaterThan(8000);
    expect(server.requests.slice(-2).map(({ raw }) => raw["cachedContent"] !== undefined)).toEqual([true, false]);
    await again();
    expect((await again()).cachedInputTokens).toBeGreaterThan(8000);
    expect(accounts.kept.map(({ name }) => name)).toEqual(["cachedContents/c1", "cachedContents/c2"]);
  });

  it("that is refused is not asked for again", async () => {
    let tried = 0;
    const accounts = createAccounts();
    const refusing = {
      ...accounts,
      keep: () => {
        tried++;
        return { status: 403, body: { error: { code: 403, message: "not allowed", status: "PERMISSION_DENIED" } } };
      },
    };
    const { again } = await start(refusing);
    for (let time = 0; time < 5; time++) expect((await again()).cachedInputTokens).toBe(0);
    expect(tried).toBe(1);
  });
});

it("leaves a receipt of what it makes and takes away at a provider, and nothing behind when the fixture closes", async () => {
  const accounts = createAccounts();
  const server = await startModelServer({ script: inOrder({ text: "Done." }), accounts });
  const yaml = `active: work\nproviders: { work: { kind: gemini, base_url: "${server.url("gemini")}", fast: { model: gemini-3.8-flash } } }\n`;
  const fixture = createModelsFixture({ yaml, keys: { GEMINI_API_KEY: "k" } });
  let closed = false;
  try {
    for (let time = 0; time < 2; time++) await ask(fixture.models, { system, tools, cacheKey: "quest-1" });
    const made = () =>
      fixture.ledger.search({ actionType: "system", limit: 100 }).items.filter(({ actionName }) => actionName.startsWith("models.cache."));
    await expect.poll(() => made().map(({ actionName, status }) => [actionName, status])).toEqual([["models.cache.create", "success"]]);
    // A cache is taken away with its last task; closing takes away what is left.
    await fixture.models.release("quest-2");
    expect(accounts.kept.length).toBe(1);
    await fixture.models.close();
    expect(made().map(({ actionName, status }) => [actionName, status])).toEqual([
      ["models.cache.delete", "success"],
      ["models.cache.create", "success"],
    ]);
    expect(accounts.kept.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
    closed = true;
  } finally {
    await fixture.close();
    await server.close();
  }
  expect(closed).toBe(true);
});

describe("what a provider refuses of a request", () => {
  const thought = { type: "thinking" as const, thinking: "Hm.", signature: "of another conversation" };
  const loop: ModelMessage[] = [
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", text: "Hm.", replay: { provider: "anthropic", block: thought } },
        { type: "tool_call", id: "c", name: "tool_1", args: {} },
      ],
    },
    { role: "tool", results: [{ callId: "c", name: "tool_1", text: "r", isError: false }] },
  ];

  it.each(of("anthropic"))("$name by $mode: thinking that cannot be read any more is left out", async (subject) => {
    const running = await run(subject, { script: inOrder({ text: "Done." }) });
    open.push(running);
    for (const model of ["claude-sonnet-5-5", "claude-haiku-4-5"]) {
      const asking = { messages: loop, tools, cacheKey: "q" };
      const { text } = await collect(running.provider, asking, { model, maxTokens: 8000, thinking: { enabled: true, budgetTokens: 4000 } });
      expect(text).toBe("Done.");
    }
    expect(running.server.requests.map(({ messages }) => messages.flatMap(({ thinking }) => thinking).length)).toEqual([1, 0, 1, 0]);
    // A model with a budget must carry its thoughts in a loop: without them it goes on without thinking.
    expect(running.server.requests.at(-1)?.raw["thinking"]).toBeUndefined();
  });

  it.each(of("anthropic"))("$name by $mode: an older model is given a tool to answer by a schema", async (subject) => {
    const args = { name: "größe", count: 2 };
    const running = await run(subject, { script: inOrder({ toolCalls: [{ name: "answer", args }] }) });
    open.push(running);
    const schema = { type: "object", properties: { name: { type: "string" }, count: { type: "integer" } }, required: ["name", "count"] };
    const { final, done } = await collect(
      running.provider,
      { responseSchema: { name: "answer", schema } },
      { model: "claude-3-5-haiku-20241022" },
    );
    expect(JSON.parse(final)).toEqual(args);
    expect(done.stop).toBe("end");
    expect(running.server.requests[0]?.raw["tool_choice"]).toEqual({ type: "tool", name: "answer" });
  });

  it.each(of("xai"))("$name by $mode: an address without Responses is asked by chat completions", async (subject) => {
    const running = await run(subject, {
      script: inOrder({ text: "Done." }),
      refuse: ({ format }) => (format === "openai_responses" ? { status: 404, message: "Not found" } : null),
    });
    open.push(running);
    for (let time = 0; time < 2; time++)
      expect((await collect(running.provider, { cacheKey: "quest-1" }, { model: subject.model })).text).toBe("Done.");
    expect(running.server.requests.map(({ format }) => format)).toEqual(["openai_responses", "openai_chat", "openai_chat"]);
    expect(running.server.requests.map(({ headers }) => headers["x-grok-conv-id"])).toEqual([undefined, "quest-1", "quest-1"]);
  });

  it.each(of("gemini"))("$name by $mode: an answer cut by the limit of one request continues with the next", async (subject) => {
    const chunk = (parts: unknown[], more: Record<string, unknown>, tokens: number): string =>
      `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts }, ...more }], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: tokens, totalTokenCount: 10 + tokens } })}\n\n`;
    const running = await run(subject, {
      script: inOrder(
        { stream: chunk([{ text: "One " }], { finishReason: "CONTINUATION", continuationToken: "dG9rZW4x" }, 3) },
        { stream: chunk([{ text: "and two." }], { finishReason: "STOP" }, 4) },
      ),
    });
    open.push(running);
    const { text, done } = await collect(running.provider, {}, { model: subject.model });
    expect([text, done.stop]).toEqual(["One and two.", "end"]);
    expect([done.usage.inputTokens, done.usage.outputTokens]).toEqual([20, 7]);
    expect(running.server.requests.map(({ raw }) => raw["continuationToken"])).toEqual([undefined, "dG9rZW4x"]);
  });
});
