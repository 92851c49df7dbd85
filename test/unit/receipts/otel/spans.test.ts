import { createHash } from "node:crypto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { describe, expect, it } from "vitest";
import type { Receipt } from "../../../../agent-server/contract/receipts.ts";
import { createToSpan } from "../../../../agent-server/receipts/otel/spans.ts";

const resource = resourceFromAttributes({ "service.name": "lancelot" });
const spans = (content = false) => createToSpan({ resource, version: "1.2.3", content });
const hex = (text: string, digits: number) => createHash("sha256").update(text).digest("hex").slice(0, digits);

const receipt = (more: Partial<Receipt> = {}): Receipt => ({
  id: "r1",
  timestamp: "2026-11-21T12:00:00.123Z",
  actionType: "system",
  actionName: "soul.activate",
  inputs: { version: "v2" },
  outputs: { ok: true },
  status: "success",
  durationMs: 1_250,
  tokenCount: null,
  cognitionTier: "DETERMINISTIC",
  riskTier: "T3",
  parentId: null,
  questId: null,
  errorMessage: null,
  metadata: {},
  hash: "h",
  prevHash: "p",
  ...more,
});
const own = (more: Partial<Receipt> = {}) => ({
  "lancelot.receipt.id": "r1",
  "lancelot.action.type": more.actionType ?? "system",
  "lancelot.action.name": more.actionName ?? "soul.activate",
  "lancelot.risk.tier": "T3",
  "lancelot.cognition.tier": "DETERMINISTIC",
  "lancelot.status": more.status ?? "success",
});

describe("the span of a receipt", () => {
  it("says what it was, when, and how long it took", () => {
    const span = spans()(receipt());
    expect(span).toMatchObject({
      name: "soul.activate",
      kind: 0,
      startTime: [1_795_262_400, 123_000_000],
      endTime: [1_795_262_401, 373_000_000],
      duration: [1, 250_000_000],
      status: { code: 1 },
      links: [],
      events: [],
      ended: true,
      resource,
      instrumentationScope: { name: "lancelot", version: "1.2.3" },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    });
    expect(span.attributes).toEqual(own());
    expect(span.spanContext()).toEqual({ traceId: hex("receipt r1", 32), spanId: hex("span r1", 16), traceFlags: 1 });
    expect("parentSpanContext" in span).toBe(false);
  });

  it.each<[string, Partial<Receipt>, object]>([
    ["took no time that was told", { durationMs: null }, { duration: [0, 0], endTime: [1_795_262_400, 123_000_000] }],
    ["was stopped, which is no error", { status: "cancelled" }, { status: { code: 0 } }],
    ["failed", { status: "failure", errorMessage: "It broke." }, { status: { code: 2 } }],
    ["is a tool's", { actionType: "tool_call", actionName: "edit_file" }, { name: "execute_tool edit_file", kind: 0 }],
    ["is a model's", { actionType: "llm_call", actionName: "work/m", metadata: { model: "big" } }, { name: "chat big", kind: 2 }],
    [
      "is a model's that is not named",
      { actionType: "llm_call", actionName: "work/m", metadata: { model: "" } },
      { name: "chat work/m", kind: 2 },
    ],
    [
      "is a model's whose name is no text",
      { actionType: "llm_call", actionName: "work/m", metadata: { model: 7 } },
      { name: "chat work/m" },
    ],
  ])("of one that %s", (_, more, expected) => {
    const span = spans()(receipt(more));
    expect(span).toMatchObject(expected);
    expect(span.status).toEqual((expected as { status?: object }).status ?? { code: 1 });
  });

  it.each<[string, Partial<Receipt>, object]>([
    ["of a quest", { questId: "q1" }, { "lancelot.quest.id": "q1", "gen_ai.conversation.id": "q1" }],
    ["that failed", { status: "failure" }, { "error.type": "_OTHER" }],
    ["that failed for a reason", { status: "failure", metadata: { reason: "denied" } }, { "error.type": "denied" }],
    ["that failed for a reason that is no text", { status: "failure", metadata: { reason: 7 } }, { "error.type": "_OTHER" }],
    ["that went well, whatever reason it names", { metadata: { reason: "x" } }, {}],
    [
      "of a tool",
      { actionType: "tool_call", actionName: "edit_file", outputs: { stop: "end" }, metadata: { model: "big", kind: "openai" } },
      {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "edit_file",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "r1",
      },
    ],
    [
      "of a model",
      {
        actionType: "llm_call",
        actionName: "a",
        outputs: { stop: "end" },
        metadata: { kind: "gemini", model: "big", usage: { inputTokens: 3, outputTokens: 0 }, inputTokens: 9 },
      },
      {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.system": "gcp.gemini",
        "gen_ai.request.model": "big",
        "gen_ai.response.finish_reasons": ["end"],
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 0,
      },
    ],
    [
      "of a model whose tokens stand by themselves",
      { actionType: "llm_call", actionName: "a", metadata: { kind: "xai", inputTokens: 3, outputTokens: 4, usage: null } },
      {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "x_ai",
        "gen_ai.system": "x_ai",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
      },
    ],
    [
      "of a model that says nothing that can be used",
      {
        actionType: "llm_call",
        actionName: "a",
        outputs: { stop: 7 },
        metadata: { kind: "", model: "", usage: "much", inputTokens: Number.NaN, outputTokens: "4" },
      },
      { "gen_ai.operation.name": "chat" },
    ],
    [
      "of a model without a provider",
      { actionType: "llm_call", actionName: "a", outputs: { stop: "" } },
      { "gen_ai.operation.name": "chat" },
    ],
  ])("has the names of the conventions: %s", (_, more, expected) => {
    expect(spans()(receipt(more)).attributes).toEqual({ ...own(more), ...expected });
  });

  it("holds inputs, outputs and messages where they are asked for, under the names of a tool's call for a tool", () => {
    expect(spans(true)(receipt()).attributes).toEqual({
      ...own(),
      "lancelot.inputs": '{"version":"v2"}',
      "lancelot.outputs": '{"ok":true}',
    });
    const tool = spans(true)(receipt({ actionType: "tool_call", actionName: "t", status: "failure", errorMessage: "It broke." }));
    expect(tool.attributes).toMatchObject({ "gen_ai.tool.call.arguments": '{"version":"v2"}', "gen_ai.tool.call.result": '{"ok":true}' });
    expect(Object.keys(tool.attributes).filter((name) => name.endsWith("puts"))).toEqual([]);
    expect(tool.status).toEqual({ code: 2, message: "It broke." });
    expect(spans(true)(receipt({ status: "failure" })).status).toEqual({ code: 2 });
    expect(spans(true)(receipt({ errorMessage: "no failure" })).status).toEqual({ code: 1 });
  });
});

describe("the trace of a receipt", () => {
  it("is its quest's, or that of the receipt at its root, and its parent is the receipt's", () => {
    const toSpan = spans();
    const trace = (more: Partial<Receipt>) => toSpan(receipt(more)).spanContext().traceId;
    const root = hex("receipt root", 32);
    expect(trace({ id: "root" })).toBe(root);
    expect(trace({ id: "child", parentId: "root" })).toBe(root);
    expect(trace({ id: "grandchild", parentId: "child" })).toBe(root);
    expect(trace({ id: "in a quest", parentId: "child", questId: "q" })).toBe(hex("quest q", 32));
    // Of a parent that was not seen, what its own trace would be if it were a root.
    expect(trace({ id: "late", parentId: "unseen" })).toBe(hex("receipt unseen", 32));
    expect(toSpan(receipt({ id: "child", parentId: "root" })).parentSpanContext).toEqual({
      traceId: root,
      spanId: hex("span root", 16),
      traceFlags: 1,
    });
  });

  it("is remembered of the last 5,000 receipts", () => {
    const toSpan = spans();
    const trace = (more: Partial<Receipt>) => toSpan(receipt(more)).spanContext().traceId;
    trace({ id: "root" });
    trace({ id: "child", parentId: "root" });
    for (let index = 0; index < 4_998; index += 1) trace({ id: `filler ${index}` });
    expect(trace({ id: "soon", parentId: "child" })).toBe(hex("receipt root", 32));
    trace({ id: "one more" });
    expect(trace({ id: "later", parentId: "child" })).toBe(hex("receipt child", 32));
    expect(trace({ id: "still", parentId: "soon" })).toBe(hex("receipt root", 32));
  });
});
