import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTelemetry, type Ledger, type Telemetry } from "../../../../agent-server/receipts/receipts.ts";
import { createGatedFetch } from "../../../../agent-server/security/security.ts";
import { startCollector } from "../../../support/receipts/collector.ts";
import { LedgerFolder, opening } from "../../../support/receipts/ledger-folder.ts";
import { processorMs } from "../../../support/processor-time.ts";

let folder: LedgerFolder;
let ledger: Ledger;
let telemetry: Telemetry | null = null;
let collector: Awaited<ReturnType<typeof startCollector>>;
let time: number;

beforeEach(async () => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 10, 21, 12);
  ({ ledger } = folder.host(() => time));
  collector = await startCollector();
});
afterEach(async () => {
  await telemetry?.end();
  telemetry = null;
  await collector.close();
  folder.remove();
});

function start(
  yaml: string,
  env: NodeJS.ProcessEnv = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}` },
  more: { endTimeoutMs?: number } = {},
): Telemetry {
  mkdirSync(join(folder.dataDir, "config"), { recursive: true });
  writeFileSync(join(folder.dataDir, "config/telemetry.yaml"), yaml);
  telemetry = createTelemetry({
    ledger,
    configDir: join(import.meta.dirname, "../../../../config"),
    dataDir: folder.dataDir,
    env,
    gatedFetch: createGatedFetch(),
    log: () => undefined,
    version: "1.2.3",
    delayMs: 20,
    ...more,
  });
  return telemetry;
}

/** A task as it is recorded: a root, a model's answer below it, a tool below that, which fails, and one that was stopped. */
function play(): void {
  const task = ledger.open(opening("chat.send", { actionType: "user_interaction", questId: "q1", inputs: { text: "the owner's words" } }));
  time += 100;
  const call = ledger.open(
    opening("work/big-model", {
      actionType: "llm_call",
      questId: "q1",
      parentId: task,
      riskTier: "T0",
      cognitionTier: "SYNTHESIS",
      inputs: { lastMessage: "the owner's words" },
      metadata: { provider: "work", kind: "anthropic", model: "big-model", lane: "deep" },
    }),
  );
  time += 1_500;
  ledger.close(call, {
    status: "success",
    outputs: { text: "an answer", stop: "tool_use" },
    metadata: { usage: { inputTokens: 1_200, outputTokens: 34 } },
  });
  const tool = ledger.open(opening("edit_file", { questId: "q1", parentId: call, inputs: { path: "src/secret-plan.ts" } }));
  time += 7;
  ledger.close(tool, { status: "failure", errorMessage: "src/secret-plan.ts moved." });
  ledger.close(ledger.open(opening("search", { questId: "q1", parentId: task })), { status: "cancelled" });
  ledger.close(task, { status: "success" });
}
const collected = (count: number) => vi.waitFor(() => expect(collector.spans).toHaveLength(count));
const span = (name: string) => collector.spans.find((found) => found.name === name);

describe("receipts as traces", () => {
  it("hang together as the receipts do, with times, kinds and states", async () => {
    start("enabled: true\n");
    play();
    await collected(4);
    const [task, call, tool, stopped] = ["chat.send", "chat big-model", "execute_tool edit_file", "execute_tool search"].map(span);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(task?.parentSpanId).toBeUndefined();
    expect(call?.parentSpanId).toBe(task?.spanId);
    expect(tool?.parentSpanId).toBe(call?.spanId);
    expect(stopped?.parentSpanId).toBe(task?.spanId);
    expect([task, call, tool, stopped].map((found) => found?.kind)).toEqual([1, 3, 1, 1]);
    expect([task, call, tool, stopped].map((found) => found?.status)).toEqual([{ code: 1 }, { code: 1 }, { code: 2 }, { code: 0 }]);
    expect(call?.startTimeUnixNano).toBe(`${BigInt(Date.UTC(2026, 10, 21, 12) + 100) * 1_000_000n}`);
    expect(BigInt(call?.endTimeUnixNano ?? 0) - BigInt(call?.startTimeUnixNano ?? 0)).toBe(1_500_000_000n);
    expect(collector.problems).toEqual([]);
    expect(collector.resources[0]).toEqual({ "service.name": "lancelot", "service.version": "1.2.3" });
  });

  it("carry the names of the conventions for generative AI", async () => {
    start("enabled: true\n");
    play();
    await collected(4);
    expect(span("chat big-model")?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.system": "anthropic",
      "gen_ai.request.model": "big-model",
      "gen_ai.usage.input_tokens": 1_200,
      "gen_ai.usage.output_tokens": 34,
      "gen_ai.response.finish_reasons": ["tool_use"],
      "gen_ai.conversation.id": "q1",
      "lancelot.quest.id": "q1",
      "lancelot.risk.tier": "T0",
      "lancelot.cognition.tier": "SYNTHESIS",
      "lancelot.action.type": "llm_call",
    });
    const receipt = ledger.search({ actionType: "tool_call", status: "failure", limit: 1 }).items[0];
    expect(span("execute_tool edit_file")?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "edit_file",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": receipt?.id,
      "error.type": "_OTHER",
      "lancelot.receipt.id": receipt?.id,
      "lancelot.status": "failure",
    });
  });

  it("leave inputs, outputs and messages out, unless they are asked for", async () => {
    start("enabled: true\n");
    play();
    await collected(4);
    expect(JSON.stringify(collector.spans)).not.toMatch(/secret-plan|owner's words|an answer/);
    await telemetry?.end();
    collector.spans.length = 0;
    start("enabled: true\ninclude_content: true\n");
    play();
    await collected(4);
    expect(span("execute_tool edit_file")).toMatchObject({
      attributes: { "gen_ai.tool.call.arguments": '{"path":"src/secret-plan.ts"}', "gen_ai.tool.call.result": "{}" },
      status: { code: 2, message: "src/secret-plan.ts moved." },
    });
    expect(span("chat.send")?.attributes["lancelot.inputs"]).toBe('{"text":"the owner\'s words"}');
    expect(span("chat big-model")?.attributes["lancelot.outputs"]).toContain("an answer");
  });

  it("without a quest hang below the receipt at their root", async () => {
    start("enabled: true\n");
    const root = ledger.record(opening("root"), { status: "success" });
    const child = ledger.record(opening("child", { parentId: root }), { status: "success" });
    ledger.record(opening("grandchild", { parentId: child }), { status: "success" });
    ledger.record(opening("other"), { status: "success" });
    ledger.flush();
    await collected(4);
    const trace = (name: string) => span(`execute_tool ${name}`)?.traceId;
    expect(trace("child")).toBe(trace("root"));
    expect(trace("grandchild")).toBe(trace("root"));
    expect(trace("other")).not.toBe(trace("root"));
  });

  it.each([
    ["gemini", "gcp.gemini"],
    ["xai", "x_ai"],
    ["openai", "openai"],
  ])("call the provider %s by its well-known name %s", async (kind, name) => {
    start("enabled: true\n");
    ledger.record(opening("p/m", { actionType: "llm_call", metadata: { kind, model: "m" } }), { status: "success" });
    ledger.flush();
    await collected(1);
    expect(collector.spans[0]?.attributes["gen_ai.provider.name"]).toBe(name);
  });

  it("reach a collector that is named by its host", async () => {
    start("enabled: true\n", { OTEL_EXPORTER_OTLP_ENDPOINT: `http://localhost:${collector.port}/` });
    play();
    await collected(4);
    expect(collector.requests.every(({ path }) => path === "/v1/traces")).toBe(true);
  });

  it.each<[string, string, (port: number) => NodeJS.ProcessEnv]>([
    ["the owner's file", "endpoint", () => ({})],
    ["the variable for traces alone", "none", (port) => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces` })],
  ])("go where %s says", async (_, from, env) => {
    start(`enabled: true\n${from === "endpoint" ? `endpoint: http://127.0.0.1:${collector.port}\n` : ""}`, env(collector.port));
    play();
    await collected(4);
  });

  it("that wait are sent when the host ends", async () => {
    const made = start("enabled: true\n");
    play();
    await made.end();
    expect(collector.spans).toHaveLength(4);
    expect(made.state()).toEqual({ state: "on", problem: null, sent: 4, dropped: 0 });
    play();
    expect(collector.spans).toHaveLength(4);
  });
});

describe("nothing is sent", () => {
  it.each<[string, string, NodeJS.ProcessEnv | undefined, string, RegExp | null]>([
    ["by default", "", undefined, "off", null],
    ["when it is off", "enabled: false\n", undefined, "off", null],
    [
      "when the environment switches the library off",
      "enabled: true\n",
      { OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" },
      "off",
      null,
    ],
    ["without a collector", "enabled: true\n", {}, "refused", /without a collector/],
    [
      "in the open to another machine",
      "enabled: true\n",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.example:4318" },
      "refused",
      /not encrypted/,
    ],
    [
      "to the metadata of a cloud",
      "enabled: true\n",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "https://169.254.169.254" },
      "refused",
      /always blocked/,
    ],
    ["to what is no address", "enabled: true\n", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }, "refused", /not a URL/],
    ["with a file that cannot be used", "enabled: perhaps\n", undefined, "refused", /telemetry\.yaml in the data folder, line 1/],
  ])("%s", async (_, yaml, env, state, problem) => {
    const made = env === undefined ? start(yaml) : start(yaml, env);
    play();
    await made.end();
    expect(collector.requests).toEqual([]);
    expect(made.state()).toMatchObject({ state, sent: 0 });
    if (problem === null) expect(made.state().problem).toBeNull();
    else expect(made.state().problem).toMatch(problem);
  });
});

describe("a collector that", () => {
  const many = (receipts: number) => {
    for (let index = 0; index < receipts; index += 1) ledger.record(opening(`action ${index}`), { status: "success" });
    ledger.flush();
  };

  it("is not there costs its spans and nothing else; they are counted", async () => {
    await collector.close();
    const made = start("enabled: true\n", undefined, { endTimeoutMs: 100 });
    const began = processorMs();
    many(3_000);
    expect(processorMs() - began).toBeLessThan(5_000);
    expect((await ledger.verify()).ok).toBe(true);
    await made.end();
    const { sent, dropped } = made.state();
    expect(sent).toBe(0);
    expect(dropped).toBe(3_000);
    collector = await startCollector();
  });

  it("refuses, likewise", async () => {
    await collector.close();
    collector = await startCollector(() => 400);
    const made = start("enabled: true\n");
    many(10);
    await vi.waitFor(() => expect(made.state().dropped).toBe(10));
    expect(collector.spans).toEqual([]);
  });

  it("never answers holds up nothing, not even the end of the host for long", async () => {
    await collector.close();
    collector = await startCollector(() => "never");
    const made = start("enabled: true\n", undefined, { endTimeoutMs: 100 });
    many(5_000);
    await vi.waitFor(() => expect(collector.requests.length).toBeGreaterThan(0));
    const began = performance.now();
    await made.end();
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(made.state()).toMatchObject({ sent: 0, dropped: 5_000 });
  });
});
