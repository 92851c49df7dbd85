import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelEvent, ModelMessage, ToolSchema } from "../../agent-server/models/request.ts";
import { inOrder } from "../support/model-server/script.ts";
import type { ModelServerOptions } from "../support/model-server/server.ts";
import type { Fault, Turn } from "../support/model-server/turn.ts";
import { failure } from "../support/models-fixture.ts";
import { collect, run, subjects, type Collected, type Running, type Subject } from "../support/providers/subjects.ts";

// One list of behaviours, every provider, both modes: what differs between providers stands in their traits and nowhere else.

const open: Running[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ server }) => server.close()));
});

async function start(subject: Subject, options: Partial<ModelServerOptions> & { turns?: Turn[] }): Promise<Running> {
  const { turns = [{ text: "Done." }], ...rest } = options;
  const running = await run(subject, { script: inOrder(...turns), ...rest });
  open.push(running);
  return running;
}

const folder = join(import.meta.dirname, "../fixtures/streams");
const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as Record<
  string,
  { text: string; thinking: string; calls: { name: string; args: unknown }[]; stop: string; usage: unknown }
>;
const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const tools: ToolSchema[] = ["read_file", "list_files"].map((name) => ({
  name,
  description: `The tool ${name}`,
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, depth: { type: ["integer", "null"] } },
    required: ["path"],
    additionalProperties: false,
  },
}));
const sentence = "Twelve letters and then a good many more of them.";
const thinking = { enabled: true, budgetTokens: 8000 };

function user(text: string): ModelMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

function resultsOf(answer: Collected, failed: readonly number[] = []): ModelMessage {
  const results = answer.calls.map(({ id, name }, index) => ({
    callId: id,
    name,
    text: `result ${index}`,
    isError: failed.includes(index),
  }));
  return { role: "tool", results };
}

describe.each(subjects)("$name by $mode", (subject) => {
  const { model, traits } = subject;

  describe("an answer", () => {
    it("streams its text in pieces and ends with the whole", async () => {
      const { provider } = await start(subject, { turns: [{ text: sentence }] });
      const { events, text, done } = await collect(provider, {}, { model });
      expect(text).toBe(sentence);
      expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(2);
      expect(events.findIndex(({ type }) => type === "done")).toBe(events.length - 1);
      expect(done).toMatchObject({ content: [{ type: "text", text: sentence }], malformed: [], stop: "end" });
    });

    it("is asked for with the system prompt, the conversation, the tools and the limit", async () => {
      const { provider, server } = await start(subject, {});
      const messages: ModelMessage[] = [user("First"), { role: "assistant", content: [{ type: "text", text: "Answer" }] }, user("Second")];
      await collect(provider, { system: "You are Lancelot. ü 🛡️", messages, tools }, { model, maxTokens: 4321 });
      const [seen] = server.requests;
      expect(seen).toMatchObject({ model, system: "You are Lancelot. ü 🛡️", key: subject.key });
      expect(seen?.messages.map(({ role, text }) => [role, text])).toEqual([
        ["user", "First"],
        ["assistant", "Answer"],
        ["user", "Second"],
      ]);
      expect(seen?.tools).toEqual(tools.map(({ name, parameters }) => ({ name, schema: parameters })));
      expect(traits.maxTokens(seen?.raw ?? {})).toBe(4321);
    });

    it("counts its tokens as the provider does", async () => {
      const usage = { inputTokens: 1200, outputTokens: 90, cachedInputTokens: 1000, reasoningTokens: 40 };
      const { provider } = await start(subject, { turns: [{ text: sentence, thinking: "Hm.", usage }] });
      const { done } = await collect(provider, {}, { model, thinking });
      expect(done.usage).toEqual({ ...usage, cacheWriteTokens: 0, toolTokens: 0 });
    });

    it.each([
      ["max_tokens", "max_tokens"],
      ["refused", "refused"],
      ["end", "end"],
    ] as const)("that ends by %s says so", async (stop, reported) => {
      const { provider } = await start(subject, { turns: [{ text: "As far as it goes", stop }] });
      expect((await collect(provider, {}, { model })).done.stop).toBe(reported);
    });

    it("may be very long", async () => {
      const long = "0123456789abcdef".repeat(16_384);
      const { provider } = await start(subject, {
        turns: [{ toolCalls: [{ name: "read_file", args: { path: long } }], chunkBytes: 65_536 }],
      });
      expect((await collect(provider, { tools }, { model })).calls[0]?.args).toEqual({ path: long });
    });

    it("may be empty", async () => {
      const { provider } = await start(subject, { turns: [{}] });
      expect((await collect(provider, {}, { model })).done).toMatchObject({ content: [], stop: "end" });
    });
  });

  describe("recorded streams", () => {
    const cases = traits.streams.flatMap((name) =>
      [0, 1, 3, 64].flatMap((chunkBytes) => [["LF", chunkBytes, name] as const, ["CRLF", chunkBytes, name] as const]),
    );
    it.each(cases)("with %s in pieces of %i bytes: %s", async (ends, chunkBytes, name) => {
      const recorded = readFileSync(join(folder, `${name}.sse`), "utf8").replaceAll("\r\n", "\n");
      const stream = ends === "LF" ? recorded : recorded.replaceAll("\n", "\r\n");
      const { provider } = await start(subject, { turns: [{ stream, ...(chunkBytes === 0 ? {} : { chunkBytes }) }] });
      const { text, thinking: thought, calls, done } = await collect(provider, { tools }, { model, thinking });
      expect({
        text,
        thinking: thought,
        calls: calls.map(({ name: called, args }) => ({ name: called, args })),
        stop: done.stop,
        usage: done.usage,
      }).toEqual(expected[name]);
      expect(done.malformed).toEqual([]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    });
  });

  describe("thinking", () => {
    const turn: Turn = {
      thinking: "The owner wants both — ich prüfe 🔍.",
      text: "Ich lese beide: 日本語 🛡️ …",
      toolCalls: [
        { name: "read_file", args: { path: "src/größe.ts" } },
        { name: "list_files", args: { path: "docs/日本 🛡️" } },
      ],
    };

    it("is asked for, shown, and is sent back in a tool loop as the provider requires it", async () => {
      const { provider, server } = await start(subject, { turns: [turn, { text: "Both are fine." }] });
      const asked = await collect(provider, { messages: [user("What do these say?")], tools }, { model, thinking });
      expect([asked.thinking, asked.text, asked.done.stop]).toEqual([turn.thinking, turn.text, "tool_calls"]);
      expect(String(traits.thinking(server.requests[0]?.raw ?? {})).toLowerCase()).toBe("medium");
      // A round trip through the database keeps the answer replayable.
      const content = JSON.parse(JSON.stringify(asked.done.content)) as typeof asked.done.content;
      const messages: ModelMessage[] = [user("What do these say?"), { role: "assistant", content }, resultsOf(asked)];
      expect((await collect(provider, { messages, tools }, { model, thinking })).text).toBe("Both are fine.");
      const replayed = server.requests[1]?.messages.flatMap((message) => message.thinking) ?? [];
      expect(replayed.length).toBe(1);
      const shape = {
        signed: { type: "thinking", thinking: turn.thinking, signature: expect.any(String) },
        encrypted: { type: "reasoning", encrypted_content: expect.any(String) },
        signature_on_call: { thoughtSignature: expect.any(String) },
        words: { reasoning_content: turn.thinking },
      }[traits.replay];
      expect(replayed[0]).toMatchObject(shape);
    });

    it("less of it is asked for where it is turned off", async () => {
      const { provider, server } = await start(subject, {});
      await collect(provider, {}, { model, thinking: { enabled: false, budgetTokens: 8000 } });
      const [seen] = server.requests;
      const reported = subject.kind === "anthropic" ? seen?.raw["thinking"] : traits.thinking(seen?.raw ?? {});
      expect(JSON.stringify(reported).toLowerCase()).toMatch(/low|between_tools/);
    });

    it("of another provider does not go along", async () => {
      const { provider, server } = await start(subject, {});
      const other = subject.kind === "anthropic" ? "openai" : "anthropic";
      const messages: ModelMessage[] = [
        user("Go"),
        {
          role: "assistant",
          content: [
            {
              type: "thinking",
              text: "secret of another",
              replay: { provider: other, block: { type: "thinking", thinking: "x", signature: "y" } },
            },
            { type: "tool_call", id: "call:with|odd.letters", name: "read_file", args: { path: "a" } },
          ],
        },
        { role: "tool", results: [{ callId: "call:with|odd.letters", name: "read_file", text: "b", isError: false }] },
      ];
      expect((await collect(provider, { messages, tools }, { model, thinking })).text).toBe("Done.");
      expect(JSON.stringify(server.requests[0]?.raw)).not.toContain("secret of another");
    });
  });

  describe("tools", () => {
    it("are called at once, with what they were given put together", async () => {
      const toolCalls = [
        { name: "read_file", args: { path: 'größe "und" 日本\n🛡️\\' } },
        { name: "list_files", args: {} },
        { name: "read_file", args: { path: "c", depth: null } },
      ];
      const { provider } = await start(subject, { turns: [{ text: "Reading", toolCalls }] });
      const { calls, done } = await collect(provider, { tools }, { model });
      expect(calls.map(({ name, args }) => ({ name, args }))).toEqual(toolCalls);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
      expect(done).toMatchObject({ stop: "tool_calls", malformed: [] });
    });

    it("are told their results, in order, failed ones marked", async () => {
      const turn: Turn = {
        toolCalls: [
          { name: "read_file", args: { path: "a" } },
          { name: "list_files", args: { path: "b" } },
        ],
      };
      const { provider, server } = await start(subject, { turns: [turn, { text: "Fine." }] });
      const asked = await collect(provider, { tools }, { model });
      const messages: ModelMessage[] = [user("Hello"), { role: "assistant", content: asked.done.content }, resultsOf(asked, [1])];
      expect((await collect(provider, { messages, tools }, { model })).text).toBe("Fine.");
      const results = server.requests[1]?.messages.flatMap(({ toolResults }) => toolResults);
      expect(results?.map(({ text }) => text)).toEqual(["result 0", "result 1"]);
      expect(results?.map(({ isError }) => isError)).toEqual([false, traits.marksErrors]);
    });

    it("called with what is no JSON object can be answered all the same", async () => {
      const { provider, server } = await start(subject, {
        turns: [{ text: "Trying", toolCalls: [{ name: "read_file", rawArgs: '{"path": "a' }] }, { text: "Sorry." }],
      });
      const asking = collect(provider, { tools }, { model });
      if (!traits.givesMalformedCalls) {
        expect((await failure(asking)).data).toMatchObject({ retryable: true });
        return;
      }
      const asked = await asking;
      expect(asked.done.malformed).toMatchObject([{ id: asked.calls[0]?.id, name: "read_file", raw: '{"path": "a' }]);
      const messages: ModelMessage[] = [user("Hello"), { role: "assistant", content: asked.done.content }, resultsOf(asked, [0])];
      expect((await collect(provider, { tools, messages }, { model })).text).toBe("Sorry.");
      expect(server.requests[1]?.messages.flatMap(({ toolResults }) => toolResults.length)).toContain(1);
    });

    it("may show images in their results", async () => {
      const { provider, server } = await start(subject, {
        turns: [{ toolCalls: [{ name: "read_file", args: { path: "a.png" } }] }, { text: "A dot." }],
      });
      const asked = await collect(provider, { tools }, { model });
      const results = asked.calls.map(({ id, name }) => ({
        callId: id,
        name,
        text: "an image",
        isError: false,
        images: [{ mediaType: "image/png", data: image }],
      }));
      const messages: ModelMessage[] = [user("Hello"), { role: "assistant", content: asked.done.content }, { role: "tool", results }];
      expect((await collect(provider, { tools, messages }, { model })).text).toBe("A dot.");
      const shown = server.requests[1]?.messages.filter(({ images }) => images.length > 0);
      expect(shown?.map(({ role, images }) => [role, images])).toEqual([[traits.imagesInResults ? "tool" : "user", [image]]]);
    });
  });

  it("takes images in what the owner says", async () => {
    const { provider, server } = await start(subject, {});
    const content = [
      { type: "text" as const, text: "What is this?" },
      { type: "image" as const, mediaType: "image/png", data: image },
    ];
    await collect(provider, { messages: [{ role: "user", content }] }, { model });
    expect(server.requests[0]?.messages[0]).toMatchObject({ role: "user", text: "What is this?", images: [image] });
  });

  it("sends a temperature where the model takes one", async () => {
    const { provider, server } = await start(subject, {});
    await collect(provider, {}, { model, temperature: 0.3 });
    expect(JSON.stringify(server.requests[0]?.raw).includes('"temperature":0.3')).toBe(traits.takesTemperature);
  });

  describe("an answer by a schema", () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string", minLength: 1 }, count: { type: "integer", minimum: 0 }, note: { type: "string" } },
      required: ["name", "count"],
      additionalProperties: false,
    };
    const responseSchema = { name: "the answer", schema };

    it("is asked for in the provider's own way and comes as JSON alone", async () => {
      const { provider, server } = await start(subject, { turns: [{ text: '{"name": "größe", "count": 3, "note": null}' }] });
      const { final } = await collect(provider, { responseSchema, system: "S" }, { model });
      expect(JSON.parse(final)).toEqual({ name: "größe", count: 3 });
      expect(traits.schema(server.requests[0]?.raw ?? {})).toMatchObject({ type: "object", properties: { name: { type: "string" } } });
    });

    it("may stand between words and fences", async () => {
      const { provider } = await start(subject, { turns: [{ text: 'Here it is:\n```json\n{"name": "a", "count": 1}\n```\nFine?' }] });
      expect((await collect(provider, { responseSchema }, { model })).final).toBe('{"name":"a","count":1}');
    });

    it("is asked for in words where the schema is refused, which is remembered", async () => {
      const refuse: ModelServerOptions["refuse"] = ({ raw }) =>
        traits.schema(raw) === undefined
          ? null
          : { status: 400, message: "Unsupported: json_schema in response_format / output_config / response_json_schema" };
      const { provider, server } = await start(subject, { turns: [{ text: '{"name":"a","count":1}' }], refuse });
      for (let time = 0; time < 2; time++)
        expect((await collect(provider, { responseSchema }, { model })).final).toBe('{"name":"a","count":1}');
      expect(server.requests.map(({ raw }) => traits.schema(raw) !== undefined)).toEqual([true, false, false]);
      expect(server.requests[1]?.system).toContain('"minLength":1');
    });
  });

  describe("stopping", () => {
    it("closes the connection at once and ends with it", async () => {
      const { provider, server } = await start(subject, { turns: [{ text: sentence.repeat(4), fault: "hang_midway" }] });
      const stop = new AbortController();
      const events = provider.stream({ system: "", messages: [user("Go")], tools: [] }, call(model), stop.signal)[Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ type: "text" });
      const rest = failure(drain(events));
      stop.abort();
      expect((await rest).code).toBe("cancelled");
      await server.closed(1);
    });

    it("works before the first byte too, and in the tick of the asking", async () => {
      const { provider, server } = await start(subject, { turns: [{ fault: "hang" }] });
      const stop = new AbortController();
      const waiting = failure(collect(provider, {}, { model }, stop.signal));
      await server.requested(1);
      stop.abort();
      expect((await waiting).code).toBe("cancelled");
      await server.closed(1);
      const same = new AbortController();
      const asked = failure(collect(provider, {}, { model }, same.signal));
      same.abort();
      expect((await asked).code).toBe("cancelled");
      expect((await failure(collect(provider, {}, { model }, AbortSignal.abort()))).code).toBe("cancelled");
      expect(server.requests.length).toBeLessThanOrEqual(2);
    });
  });

  describe("failures", () => {
    it.each<[number, string, boolean, string]>([
      [400, "unavailable", false, "Our cluster rejected the request (400)."],
      [401, "unavailable", false, "API key"],
      [402, "unavailable", false, "no credit"],
      [403, "unavailable", false, "denied access to"],
      [404, "not_found", false, "Our cluster has no model named"],
      [413, "too_large", false, "The conversation is too long"],
      [422, "unavailable", false, "rejected the request (422)"],
      [429, "rate_limited", true, "Our cluster is limiting requests (429)."],
      [500, "unavailable", true, "had an internal error (500)"],
      [502, "unavailable", true, "had an internal error (502)"],
      [503, "unavailable", true, "overloaded (503)"],
      [529, "unavailable", true, "overloaded (529)"],
    ])("status %i is worded", async (status, code, retryable, said) => {
      const { provider, server } = await start(subject, { turns: [{ fault: `http${status}` as Fault }] });
      const error = await failure(collect(provider, {}, { model }));
      expect(error.message).toContain(said);
      expect(error.code).toBe(code);
      expect(error.data).toMatchObject({ retryable });
      expect(server.requests.length).toBe(1);
    });

    it.each<[string, Partial<Turn>, number, number]>([
      ["seconds", { retryAfter: 7 }, 7000, 7000],
      ["a date", { retryAfter: "in 40 s" }, 20_000, 40_000],
      ["milliseconds", { retryAfterMs: 250, retryAfter: 60 }, 250, 250],
    ])("Retry-After in %s is kept", async (_, turn, least, most) => {
      const date = turn.retryAfter === "in 40 s" ? { retryAfter: new Date(Date.now() + 40_000).toUTCString() } : {};
      const { provider } = await start(subject, { turns: [{ fault: "http429", ...turn, ...date }] });
      const { data } = await failure(collect(provider, {}, { model }));
      expect(data?.["retryAfterMs"]).toBeGreaterThanOrEqual(least);
      expect(data?.["retryAfterMs"]).toBeLessThanOrEqual(most);
    });

    it("in the middle of a stream are told as what they are", async () => {
      const { provider } = await start(subject, { turns: [{ text: sentence, fault: "error_event" }] });
      const error = await failure(collect(provider, {}, { model }));
      expect(error.data).toMatchObject({ retryable: true });
      expect(["overloaded", "server"]).toContain(error.data?.["reason"]);
    });

    it.each(["cut", "cut_clean"] as const)("a stream with %s is a broken connection", async (fault) => {
      const { provider } = await start(subject, { turns: [{ text: sentence.repeat(3), fault, chunkBytes: 5 }] });
      const error = await failure(collect(provider, {}, { model }));
      expect(error.data).toMatchObject({ retryable: true, reason: "cut" });
    });

    it("a prompt past the window is told as such", async () => {
      const { provider } = await start(subject, { turns: [{ fault: "too_long" }] });
      expect((await failure(collect(provider, {}, { model }))).code).toBe("too_large");
    });

    it("the web page of a proxy is no answer, with either status", async () => {
      const { provider } = await start(subject, {
        turns: [{ fault: "page" }, { fault: "http502", says: "<html><body>Bad gateway</body></html>" }],
      });
      const page = await failure(collect(provider, {}, { model }));
      expect(page.message).toContain("web page");
      expect(page.data).toMatchObject({ retryable: false });
      const gateway = await failure(collect(provider, {}, { model }));
      expect(gateway.message).toBe("Our cluster had an internal error (502).");
    });

    it("one text in place of a stream is no answer; an error in it is told", async () => {
      const { provider } = await start(subject, { turns: [{ fault: "no_stream" }, { fault: "json_error" }] });
      expect((await failure(collect(provider, {}, { model }))).data).toMatchObject({ retryable: false });
      expect((await failure(collect(provider, {}, { model }))).data).toMatchObject({ retryable: true });
    });

    it("a way to another address is not taken", async () => {
      const { provider } = await start(subject, { turns: [{ fault: "redirect" }] });
      const error = await failure(collect(provider, {}, { model }));
      expect(error.code).toBe("denied");
      expect(error.message).toContain("https://elsewhere.example");
    });

    it("a key that is refused is reported, in a list too", async () => {
      const { provider } = await start(subject, { keys: ["another"] });
      const said = "API key";
      const asking: (() => Promise<unknown>)[] = [
        () => collect(provider, {}, { model }),
        () => provider.listModels(new AbortController().signal),
      ];
      for (const asked of asking) {
        const error = await failure(asked());
        expect(error.message).toContain(said);
        expect(error.data).toMatchObject({ action: "set_key", retryable: false });
      }
    });
  });

  it("lists every page of models", async () => {
    const models = Array.from({ length: 7 }, (_, index) => `listed-${index}`);
    const { provider } = await start(subject, { models, pageSize: 3 });
    expect((await provider.listModels(new AbortController().signal)).map((listed) => listed.model)).toEqual(models);
  });

  it("shows that it lives with every piece that comes", async () => {
    const { provider } = await start(subject, { turns: [{ text: sentence, thinking: sentence }] });
    let heard = 0;
    await collect(provider, {}, { model, onActivity: () => void heard++ });
    expect(heard).toBeGreaterThan(1);
  });

  it("sends a conversation that only grew with the same beginning", async () => {
    const { provider, server } = await start(subject, { turns: [{ text: "One." }, { text: "Two." }] });
    const messages = [user("First")];
    for (const next of ["Second", "Third"]) {
      const { done } = await collect(provider, { system: "S".repeat(6000), tools, messages, cacheKey: "quest-1" }, { model });
      messages.push({ role: "assistant", content: done.content }, user(next));
    }
    const [one, two] = server.requests.map(({ raw }) => sentOf(raw));
    expect(two?.startsWith(one?.slice(0, -1) ?? "-")).toBe(true);
  });
});

/** The conversation as it is sent, without marks, which move. */
function sentOf(raw: Record<string, unknown>): string {
  const said = raw["messages"] ?? raw["input"] ?? raw["contents"];
  return JSON.stringify(said, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

function call(model: string) {
  return { model, maxTokens: 1000, temperature: undefined, thinking: undefined };
}

async function drain(iterator: AsyncIterator<ModelEvent>): Promise<void> {
  while ((await iterator.next()).done !== true);
}
