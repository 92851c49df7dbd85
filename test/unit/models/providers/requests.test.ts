import { describe, expect, it } from "vitest";
import { toRequest } from "../../../../agent-server/models/providers/anthropic-request.ts";
import { minimumCachedTokens } from "../../../../agent-server/models/providers/anthropic-models.ts";
import { toRequest as toGemini } from "../../../../agent-server/models/providers/gemini-request.ts";
import { toBody as toChat } from "../../../../agent-server/models/providers/openai-chat-request.ts";
import { toBody as toResponses } from "../../../../agent-server/models/providers/openai-responses-request.ts";
import type { ProviderCall } from "../../../../agent-server/models/providers/types.ts";
import type { ModelMessage, ModelRequest } from "../../../../agent-server/models/request.ts";

const all = (): boolean => true;
const on = { enabled: true, budgetTokens: 10_000 };
const off = { enabled: false, budgetTokens: 10_000 };

function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return { system: "S", messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }], tools: [], ...more };
}

function call(model: string, more: Partial<ProviderCall> = {}): ProviderCall {
  return { model, maxTokens: 16_000, temperature: undefined, thinking: undefined, ...more };
}

const bound = { type: "adaptive", display: "summarized", block_binding: { prefix_mismatch_behavior: "drop_block" } };

describe("Claude", () => {
  it.each<[string, ProviderCall["thinking"], unknown, string | undefined]>([
    ["claude-3-5-haiku-20241022", undefined, undefined, undefined],
    ["claude-haiku-4-5", on, { type: "enabled", budget_tokens: 10_000 }, undefined],
    ["claude-haiku-4-5", off, undefined, undefined],
    ["claude-opus-4-5-20251101", { enabled: true, budgetTokens: 500 }, undefined, undefined],
    ["claude-opus-4-5-20251101", { enabled: true, budgetTokens: 90_000 }, { type: "enabled", budget_tokens: 15_999 }, undefined],
    ["claude-opus-4-8", on, { type: "adaptive", display: "summarized" }, "medium"],
    ["claude-opus-4-8", undefined, undefined, undefined],
    ["claude-sonnet-5", { enabled: true, budgetTokens: 30_000 }, { type: "adaptive", display: "summarized" }, "high"],
    // These think unless told otherwise, and hide what they think.
    ["claude-sonnet-5-5", undefined, bound, undefined],
    ["claude-sonnet-5-5", off, { type: "between_tools" }, undefined],
    ["claude-sonnet-5-5", { enabled: true, budgetTokens: 2000 }, bound, "low"],
    ["claude-opus-5-5", off, bound, "low"],
    ["claude-haiku-5-5", on, bound, "medium"],
    ["claude-fable-5-1", undefined, bound, undefined],
    ["claude-fable-5", undefined, undefined, undefined],
    ["claude-fable-5", off, undefined, undefined],
    ["claude-opus-5", off, { type: "disabled" }, undefined],
    ["claude-opus-4-8", off, undefined, undefined],
    ["some-model", on, { type: "enabled", budget_tokens: 10_000 }, undefined],
  ])("%s with thinking %j", (model, thinking, expected, effort) => {
    const { body, headers } = toRequest(request(), call(model, { thinking }), all);
    expect(body.thinking).toEqual(expected);
    expect(body.output_config?.effort).toBe(effort);
    expect(headers["anthropic-beta"] !== undefined).toBe(expected === bound);
  });

  it.each(["claude-opus-4-6", "claude-sonnet-5-5"])("%s is sent no temperature", (model) => {
    expect("temperature" in toRequest(request(), call(model, { temperature: 0.5 }), all).body).toBe(false);
  });

  const responseSchema = { name: "find it", schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } };
  const free = { name: "x", schema: { type: "object", additionalProperties: true } };
  it.each<[string, Partial<ModelRequest>, "format" | "tool" | "words"]>([
    ["claude-sonnet-5-5", { responseSchema }, "format"],
    ["claude-haiku-4-5", { responseSchema }, "format"],
    ["claude-opus-4-1", { responseSchema }, "format"],
    ["claude-sonnet-4-20250514", { responseSchema }, "tool"],
    ["claude-3-5-haiku-20241022", { responseSchema }, "tool"],
    ["claude-3-5-haiku-20241022", { responseSchema, tools: [{ name: "t", description: "", parameters: {} }] }, "words"],
    ["claude-sonnet-5-5", { responseSchema: free }, "words"],
  ])("%s is given a schema (%#) by %s", (model, more, by) => {
    const { body, answerTool } = toRequest(request(more), call(model), all);
    const system = JSON.stringify(body.system);
    expect([body.output_config?.format !== undefined, answerTool !== null, system.includes("JSON Schema")]).toEqual([
      by === "format",
      by === "tool",
      by === "words",
    ]);
    if (by === "tool") expect(body.tool_choice).toEqual({ type: "tool", name: "find_it" });
  });
});

describe("marks for Claude's cache", () => {
  const long = "word ".repeat(3000);
  const tools = [0, 1].map((index) => ({ name: `t${index}`, description: "", parameters: { type: "object" } }));
  const thought = { type: "thinking", thinking: "Hm.", signature: "s" };
  const turn = (index: number): ModelMessage[] => [
    {
      role: "assistant",
      content: [
        { type: "thinking", text: "Hm.", replay: { provider: "anthropic", block: thought } },
        { type: "tool_call", id: `c${index}`, name: "t0", args: {} },
      ],
    },
    { role: "tool", results: [{ callId: `c${index}`, name: "t0", text: long, isError: false }] },
  ];
  const grown: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: long }] }, ...turn(1), ...turn(2), ...turn(3)];

  const marksOf = (body: unknown): number => JSON.stringify(body).split('"cache_control"').length - 1;

  it("stand on tools, system and the last two turns, four in all, none on a thought", () => {
    const { body } = toRequest(request({ tools, messages: grown, cacheKey: "q" }), call("claude-sonnet-5-5"), all);
    expect(marksOf(body)).toBe(4);
    expect(body.tools?.map((tool) => "cache_control" in tool)).toEqual([false, true]);
    expect(JSON.stringify(body.system)).toContain("cache_control");
    expect(body.messages.map((message) => marksOf(message))).toEqual([0, 0, 0, 0, 1, 0, 1]);
    const thoughts = body.messages.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter(({ type }) => type === "thinking"),
    );
    expect(thoughts).toEqual([thought, thought, thought]);
  });

  it("move with the conversation: what one request wrote is what the next one reads", () => {
    const markedAt = (messages: ModelMessage[]): number[] =>
      toRequest(request({ messages, cacheKey: "q" }), call("claude-sonnet-5-5"), all).body.messages.flatMap((message, index) =>
        marksOf(message) > 0 ? [index] : [],
      );
    const before = markedAt(grown.slice(0, 5));
    expect(markedAt(grown)).toContain(before.at(-1));
  });

  it("stand on the conversation only where it will continue, and only past the least size", () => {
    const { body } = toRequest(request({ messages: grown }), call("claude-sonnet-5-5"), all);
    expect(marksOf(body.messages)).toBe(0);
    const short = toRequest(request({ cacheKey: "q" }), call("claude-sonnet-5-5"), all).body;
    expect(marksOf(short.messages)).toBe(0);
  });

  it.each([
    ["claude-opus-5-5", 512],
    ["claude-sonnet-5-5", 1024],
    ["claude-opus-4-8", 1024],
    ["claude-opus-4-7", 2048],
    ["claude-haiku-4-5", 4096],
    ["some-model", 1024],
  ])("have a least size: %s %i", (model, tokens) => {
    expect(minimumCachedTokens(model)).toBe(tokens);
  });
});

describe("OpenAI and xAI by responses", () => {
  it.each<[string, "openai" | "xai", Partial<ProviderCall>, unknown, unknown]>([
    ["gpt-6.1-sol", "openai", { thinking: on }, { effort: "medium", summary: "auto" }, undefined],
    ["gpt-6.1-sol", "openai", { thinking: off, temperature: 0.2 }, { effort: "low" }, undefined],
    ["gpt-6.1-sol", "openai", {}, undefined, undefined],
    ["gpt-4.1", "openai", { thinking: on, temperature: 0.2 }, undefined, 0.2],
    ["gpt-5-chat-latest", "openai", { thinking: on, temperature: 0.2 }, undefined, 0.2],
    ["grok-4.7", "xai", { thinking: on, temperature: 0.2 }, { effort: "medium", summary: "auto" }, 0.2],
    ["grok-4.20", "xai", { thinking: on }, { summary: "auto" }, undefined],
    ["grok-4-1-fast-non-reasoning", "xai", { thinking: on, temperature: 0.3 }, undefined, 0.3],
  ])("%s of %s with %j", (model, kind, more, reasoning, temperature) => {
    const body = toResponses(request(), call(model, more), kind, all);
    expect(body.reasoning).toEqual(reasoning);
    expect(body.temperature).toBe(temperature);
    expect(body).toMatchObject({ store: false, stream: true });
    expect(body.include !== undefined).toBe(reasoning !== undefined || !/gpt-4|chat-latest|non-reasoning/.test(model));
  });

  it("puts the system prompt where each takes it, marked where writing needs a mark", () => {
    const keyed = request({ cacheKey: "k".repeat(80) });
    const marked = toResponses(keyed, call("gpt-6.1-sol"), "openai", all);
    expect(marked.prompt_cache_key).toBe("k".repeat(64));
    expect(marked.instructions).toBeUndefined();
    expect(marked.input?.[0]).toEqual({
      role: "developer",
      content: [{ type: "input_text", text: "S", prompt_cache_breakpoint: { mode: "explicit" } }],
    });
    expect(toResponses(request(), call("gpt-6.1-sol"), "openai", all).instructions).toBe("S");
    expect(toResponses(keyed, call("gpt-5.4"), "openai", all).instructions).toBe("S");
    const grok = toResponses(keyed, call("grok-4.7"), "xai", all);
    expect(grok.input?.[0]).toEqual({ role: "system", content: "S" });
    expect(grok.prompt_cache_key).toBe("k".repeat(64));
  });
});

describe("chat completions", () => {
  it("gives reasoning back within a loop of tools and not beyond it", () => {
    const looped = (kind: "openai_compatible" | "xai"): ModelMessage[] => [
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "Hm.", replay: { provider: kind, block: { field: "reasoning" } } },
          { type: "tool_call", id: "c", name: "t", args: {} },
        ],
      },
      { role: "tool", results: [{ callId: "c", name: "t", text: "r", isError: false }] },
    ];
    const [first] = request().messages;
    const reported = (messages: ModelMessage[]): string =>
      JSON.stringify(toChat(request({ messages }), call("m"), "openai_compatible", all).messages);
    if (first === undefined) throw new Error("no message");
    expect(reported([first, ...looped("openai_compatible")])).toContain('"reasoning":"Hm."');
    expect(reported([first, ...looped("openai_compatible"), first])).not.toContain("Hm.");
    expect(reported([first, ...looped("xai")])).not.toContain("Hm.");
  });

  it("falls back from a schema to any JSON to words", () => {
    const responseSchema = { name: "x", schema: { type: "object", properties: { a: { type: "string" } } } };
    const without = (...parts: string[]) =>
      toChat(request({ responseSchema }), call("m"), "openai_compatible", (part) => !parts.includes(part));
    expect(without().response_format?.type).toBe("json_schema");
    expect(without("json_schema").response_format?.type).toBe("json_object");
    expect(without("json_schema", "json_object").response_format).toBeUndefined();
    expect(JSON.stringify(without("json_schema", "json_object").messages[0])).toContain("JSON Schema");
  });
});

describe("Gemini", () => {
  it.each<[string, ProviderCall["thinking"], unknown]>([
    ["gemini-2.5-flash", on, { includeThoughts: true, thinkingBudget: 10_000 }],
    ["gemini-2.5-flash", off, { thinkingBudget: 0 }],
    ["gemini-2.5-pro", off, { thinkingBudget: 128 }],
    ["gemini-3.8-flash", on, { includeThoughts: true, thinkingLevel: "MEDIUM" }],
    ["gemini-pro-latest", { enabled: true, budgetTokens: 40_000 }, { includeThoughts: true, thinkingLevel: "HIGH" }],
    ["gemini-3.8-flash", off, { thinkingLevel: "LOW" }],
    ["gemini-3.8-flash", undefined, undefined],
  ])("%s with thinking %j", (model, thinking, expected) => {
    expect(toGemini(request(), call(model, { thinking }), all).generation.thinkingConfig).toEqual(expected);
  });

  it("answers as JSON beside tools from its third generation on", () => {
    const responseSchema = { name: "x", schema: { type: "object", properties: { a: { type: "string" } } } };
    const tools = [{ name: "t", description: "", parameters: { type: "object" } }];
    const asked = (model: string) => toGemini(request({ responseSchema, tools }), call(model), all);
    expect(asked("gemini-3.8-flash").generation.responseMimeType).toBe("application/json");
    expect(asked("gemini-2.5-flash").generation.responseMimeType).toBeUndefined();
    expect(JSON.stringify(asked("gemini-2.5-flash").prefix.systemInstruction)).toContain("JSON Schema");
  });
});
