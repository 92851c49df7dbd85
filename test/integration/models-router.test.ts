import { afterEach, describe, expect, it } from "vitest";
import type { RouterDecision } from "../../agent-server/contract/router.ts";
import { createUsage, type ModelEvent } from "../../agent-server/models/models.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { Script, SeenRequest } from "../support/model-server/turn.ts";
import { ask, createModelsFixture, failure, localIn, type ModelsFixture } from "../support/models-fixture.ts";

const kinds = ["anthropic", "openai", "gemini", "xai", "openai_compatible"] as const;
type Kind = (typeof kinds)[number];
const keys = { ANTHROPIC_API_KEY: "key-a", OPENAI_API_KEY: "key-o", GEMINI_API_KEY: "key-g", XAI_API_KEY: "key-x" };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function start(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script });
  open.push(server);
  return server;
}

const profiles =
  "fast: { model: quick }, deep: { model: strong, thinking: { enabled: true, budget_tokens: 2000 } }, cache: { model: cheap }";
function fixture(
  server: ModelServer,
  options: Parameters<typeof createModelsFixture>[0] & { kind?: Kind; lanes?: string } = {},
): ModelsFixture {
  const { kind = "anthropic", lanes = profiles, ...rest } = options;
  const yaml = `
active: work
providers:
  work: { kind: ${kind}, display_name: Our cluster, base_url: "${server.url(kind)}", ${lanes} }
`;
  const made = createModelsFixture({ yaml, keys, ...rest });
  open.push(made);
  return made;
}

const chat = { type: "chat", text: "Hello" };
const plan = { type: "plan", text: "Plan it" };
const asked = ({ requests }: ModelServer): string[] => requests.map(({ model }) => model);
const routed = (events: readonly ModelEvent[]) => events.flatMap((event) => (event.type === "routed" ? [event.by] : []));
const decisionsOf = ({ models }: ModelsFixture): RouterDecision[] => models.router.decisions({ limit: 50 }).items;
const byModel =
  (turns: Record<string, Parameters<typeof inOrder>[0]>): Script =>
  ({ model }: SeenRequest) =>
    turns[model] ?? { text: "ok" };

describe.each(kinds)("%s", (kind) => {
  it("answers by the profile of the lane, and says who answers before the first word", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { kind });
    const first = await ask(made.models, {}, undefined, { task: chat });
    const second = await ask(made.models, {}, undefined, { task: plan });
    await ask(made.models, { lane: "cache" });
    expect(asked(server)).toEqual(["quick", "strong", "cheap"]);
    expect(first.events[0]).toMatchObject({
      type: "routed",
      by: { provider: "work", model: "quick", displayName: "Our cluster", lane: "flagship_fast" },
    });
    expect(routed(second.events)).toMatchObject([{ model: "strong", lane: "flagship_deep", rationale: expect.stringContaining("“plan”") }]);
    expect(made.receipts().map(({ metadata }) => [metadata["model"], metadata["lane"]])).toEqual([
      ["quick", "flagship_fast"],
      ["strong", "flagship_deep"],
      ["cheap", "flagship_fast"],
    ]);
  });

  it("continues with the deep model when the fast one fails, once, and says so", async () => {
    const server = await start(byModel({ quick: { fault: "http404" }, strong: { text: "The strong one." } }));
    const made = fixture(server, { kind });
    const { text, events } = await ask(made.models, {}, undefined, { task: chat });
    expect(text).toBe("The strong one.");
    expect(asked(server).at(-1)).toBe("strong");
    const retry = events.find((event) => event.type === "retry");
    expect(retry?.reason).toMatch(/^quick .*strong/);
    expect(decisionsOf(made).map(({ rule, lane, model, success }) => [rule, lane, model, success])).toEqual([
      ["failure", "flagship_deep", "strong", true],
      ["default", "flagship_fast", "quick", false],
    ]);
  });
});

describe("escalation", () => {
  it.each([
    ["http401", 1],
    ["http402", 1],
  ] as const)("does not follow %s, which the deep model would meet too", async (fault, count) => {
    const server = await start(inOrder({ fault }));
    const made = fixture(server);
    await failure(ask(made.models, {}, undefined, { task: chat }));
    expect(asked(server)).toEqual(Array.from({ length: count }, () => "quick"));
    expect(decisionsOf(made)).toMatchObject([{ rule: "default", success: false }]);
  });

  it("happens once: when the strong one fails too, its failure is told", async () => {
    const server = await start(inOrder({ fault: "http529" }));
    const made = fixture(server);
    const error = await failure(ask(made.models, {}, undefined, { task: chat }));
    expect(error.data).toMatchObject({ reason: "overloaded", tries: 4 });
    expect(asked(server)).toEqual([...Array.from({ length: 4 }, () => "quick"), ...Array.from({ length: 4 }, () => "strong")]);
    expect(made.receipts().map(({ status, metadata }) => [status, metadata["model"], metadata["attempt"]])).toEqual(
      ["quick", "strong"].flatMap((model) => [1, 2, 3, 4].map((attempt) => ["failure", model, attempt])),
    );
  });

  it.each([
    ["is switched off", { router: "escalation: { triggers: [{ type: risk }] }\n" }, chat],
    ["has no deep lane", { router: "routing_order: [{ lane: flagship_fast, priority: 1 }]\n" }, chat],
    ["has no deep profile", { lanes: "fast: { model: quick }" }, chat],
    ["has a deep profile that is the fast one", { lanes: "fast: { model: quick }, deep: { model: quick, max_tokens: 99 }" }, chat],
    ["was given a lane by the owner", {}, { ...chat, override: { lane: "flagship_fast" as const } }],
    ["was given a model by the owner", {}, { ...chat, override: { model: "quick" } }],
  ])("is not tried where the task %s", async (_, options, task) => {
    const server = await start(inOrder({ fault: "http404" }));
    const made = fixture(server, options);
    await failure(ask(made.models, {}, undefined, { task }));
    expect(new Set(asked(server))).toEqual(new Set(["quick"]));
  });

  it("follows a prompt that is too long only to a larger window", async () => {
    const server = await start(byModel({ quick: { fault: "too_long" }, strong: { text: "It fits." } }));
    const windows = (deep: number): string =>
      `fast: { model: quick, context_window: 1000 }, deep: { model: strong, context_window: ${deep} }`;
    const wide = fixture(server, { lanes: windows(2000) });
    expect((await ask(wide.models, {}, undefined, { task: chat })).text).toBe("It fits.");
    const narrow = fixture(server, { lanes: windows(1000) });
    expect((await failure(ask(narrow.models, {}, undefined, { task: chat }))).code).toBe("too_large");
  });

  it("stops with the owner, wherever it is", async () => {
    const stop = new AbortController();
    const server = await start(({ model }) => {
      if (model === "quick") stop.abort();
      return { fault: "http404" };
    });
    const made = fixture(server);
    expect((await failure(ask(made.models, {}, stop.signal, { task: chat }))).code).toBe("cancelled");
    expect(asked(server)).toEqual(["quick"]);
    expect(decisionsOf(made)).toMatchObject([{ success: false, error: "Stopped." }]);
  });
});

describe("a deep profile that is none of its own", () => {
  it.each(["fast: { model: quick }", "fast: { model: quick }, deep: { model: quick }"])("is said in the rationale: %s", async (lanes) => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { lanes });
    const { events } = await ask(made.models, {}, undefined, { task: plan });
    expect(routed(events)[0]?.rationale).toMatch(/“plan”.*no deep profile/);
    expect(asked(server)).toEqual(["quick"]);
  });
});

describe("a decision", () => {
  it("is kept, told twice and receipted under the turn, with rationale and alternatives", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { router: "failover: [local]\n", local: localIn({ status: "ready" }) });
    const reported: RouterDecision[] = [];
    made.models.onChange((change) => "routed" in change && reported.push(change.routed));
    const turn = made.ledger.open({ actionType: "system", actionName: "turn", inputs: {}, riskTier: "T0" });
    await ask(made.models, {}, undefined, { task: { type: "edit", text: "Deploy it" }, parentId: turn });
    const [kept] = decisionsOf(made);
    expect(reported.map(({ success }) => success)).toEqual([null, true]);
    expect(reported[1]).toEqual(kept);
    expect(kept).toMatchObject({
      taskType: "edit",
      lane: "flagship_deep",
      rule: "risk",
      provider: "work",
      model: "strong",
      success: true,
      error: null,
    });
    expect(kept?.elapsedMs).toBeGreaterThan(0);
    expect(kept?.alternatives).toEqual([
      { lane: "flagship_fast", provider: "work", model: "quick", reason: expect.any(String) },
      { lane: "local_utility", provider: "local", model: "Small model", reason: expect.any(String) },
    ]);
    const receipt = made.ledger.get(kept?.receiptId ?? "");
    expect(receipt).toMatchObject({
      actionType: "system",
      actionName: "router.decide",
      parentId: turn,
      status: "success",
      outputs: { lane: "flagship_deep", rule: "risk", rationale: kept?.rationale, alternatives: kept?.alternatives },
    });
    expect(made.receipts()[0]).toMatchObject({ parentId: turn, metadata: { decisionId: kept?.id } });
    expect(made.models.router.stats()).toMatchObject({
      total: 1,
      succeeded: 1,
      byRule: { risk: 1 },
      byLane: { flagship_deep: 1 },
      localShare: 0,
    });
  });

  it("leaves no receipt of its own where the owner disabled it, and no rationale in it", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { router: "receipts: { enabled: false }\n" });
    const decides = () => made.ledger.search({ query: "router.decide", limit: 10 }).items;
    await ask(made.models, {}, undefined, { task: chat });
    expect(decides()).toEqual([]);
    expect(decisionsOf(made)).toMatchObject([{ receiptId: null, rationale: expect.stringMatching(/fast model/i) }]);
    made.writeRouter("receipts: { include_rationale: false }\n");
    await ask(made.models, {}, undefined, { task: chat });
    expect(decides().map(({ outputs }) => outputs)).toEqual([{ lane: "flagship_fast", provider: "work", model: "quick", rule: "default" }]);
    expect(made.receipts()).toHaveLength(2);
  });

  it("about a text executes, keeps and records nothing", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server);
    const before = made.ledger.search({ limit: 100 }).items.length;
    const decided = await made.models.router.decide({ taskType: "edit", text: "Drop the table users" }, undefined);
    expect(decided).toMatchObject({ lane: "flagship_deep", rule: "risk", model: "strong", success: null, elapsedMs: 0, receiptId: null });
    expect(await made.models.router.decide({ taskType: "plan", text: "" }, { lane: "flagship_fast" })).toMatchObject({
      rule: "override",
      model: "quick",
    });
    expect(server.requests).toEqual([]);
    expect(decisionsOf(made)).toEqual([]);
    expect(made.ledger.search({ limit: 100 }).items.length).toBe(before);
  });

  it("is made where nothing can answer, and says why", async () => {
    const made = createModelsFixture({ local: localIn({ status: "absent" }) });
    open.push(made);
    expect(await made.models.router.decide({ taskType: "chat", text: "Hi" }, undefined)).toMatchObject({
      lane: "flagship_fast",
      provider: "none",
      error: expect.stringContaining("322 MB"),
      success: null,
    });
    expect(await made.models.router.decide({ taskType: "summarize", text: "Hi" }, undefined)).toMatchObject({
      lane: "local_utility",
      provider: "none",
      model: "rules",
      error: null,
    });
    expect(await made.models.router.decide({ taskType: "redact", text: "Hi" }, undefined)).toMatchObject({
      lane: "local_redaction",
      rule: "redact",
    });
  });

  it("names the local model for local tasks, and for everything where it is all there is", async () => {
    const made = createModelsFixture({ local: localIn({ status: "ready" }) });
    open.push(made);
    expect(await made.models.router.decide({ taskType: "extract_json", text: "x" }, undefined)).toMatchObject({
      lane: "local_utility",
      provider: "local",
      model: "Small model",
      rule: "local_task",
    });
    const { text, events } = await ask(made.models, {}, undefined, { task: plan });
    expect(text).toBe("local words");
    expect(routed(events)).toMatchObject([
      { lane: "local_utility", provider: "local", rationale: expect.stringContaining("only one model") },
    ]);
    expect(made.models.router.stats().localShare).toBe(1);
  });
});

describe("the owner's choice for a task", () => {
  const two = async () => {
    const [work, other] = [await start(inOrder({ text: "work" })), await start(inOrder({ text: "other" }))];
    const yaml = `
active: work
providers:
  work: { kind: anthropic, base_url: "${work.url("anthropic")}", ${profiles} }
  other: { kind: openai, base_url: "${other.url("openai")}", fast: { model: other-quick }, deep: { model: other-strong } }
`;
    const { XAI_API_KEY: _, ...some } = keys;
    const made = createModelsFixture({ yaml, keys: some, local: localIn({ status: "ready" }) });
    open.push(made);
    return { made, work, other };
  };

  it.each([
    [{ provider: "other" }, chat, "other", "other-quick", "flagship_fast"],
    [{ provider: "other" }, plan, "other", "other-strong", "flagship_deep"],
    [{ provider: "other", lane: "flagship_deep" as const }, chat, "other", "other-strong", "flagship_deep"],
    [{ model: "third" }, chat, "work", "third", "flagship_fast"],
    [{ provider: "other", model: "third" }, plan, "other", "third", "flagship_deep"],
    [{ lane: "local_utility" as const }, plan, "local", "Small model", "local_utility"],
  ])("%j of %j", async (override, task, provider, model, lane) => {
    const { made } = await two();
    const { events } = await ask(made.models, {}, undefined, { task: { ...task, override } });
    expect(routed(events)).toMatchObject([{ provider, model, lane }]);
    expect(decisionsOf(made)).toMatchObject([{ rule: "override" }]);
  });

  it("of a model that the local one is not fails, and is not quietly something else", async () => {
    const made = createModelsFixture({ local: localIn({ status: "ready" }) });
    open.push(made);
    const error = await failure(ask(made.models, {}, undefined, { task: { ...chat, override: { model: "large" } } }));
    expect(error).toMatchObject({ code: "unavailable", data: { action: "choose_model" } });
  });

  it("that cannot be followed fails with what to do, and nothing else answers", async () => {
    const { made, work, other } = await two();
    const error = await failure(ask(made.models, {}, undefined, { task: { ...chat, override: { provider: "nobody" } } }));
    expect(error.message).toContain('no provider named "nobody" in config/models.yaml');
    expect([...work.requests, ...other.requests]).toEqual([]);
  });

  it.each([
    [{ provider: "nobody" }, "not_found", "has no provider named"],
    [{ provider: "gemini2" }, "not_found", "work, other"],
    [{ provider: "work", lane: "local_utility" as const }, "invalid_params", "not on this machine"],
    [{ provider: "local", model: "x" }, "invalid_params", "for one task"],
    [{ provider: "xai" }, "unavailable", "no API key"],
  ])("is refused when it is %j", async (override, code, expectedText) => {
    const { made } = await two();
    const error = await failure(made.models.checkOverride(override).then(() => Promise.reject(new Error("accepted"))));
    expect(error.code).toBe(code);
    expect(error.message).toContain(expectedText);
  });

  it.each([{}, { provider: "other" }, { lane: "flagship_deep" as const }, { model: "anything" }, { lane: "local_utility" as const }])(
    "is accepted when it is %j",
    async (override) => {
      const { made } = await two();
      await made.models.checkOverride(override);
    },
  );
});

describe("a tool loop that continues", () => {
  it("keeps the deep model, goes up to it, and never down", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const { models } = fixture(server);
    const routes = models.routes();
    const up = await routes.next(plan);
    const kept = await routes.next(chat);
    expect([kept.lane, kept.rule, kept.rationale]).toEqual([up.lane, up.rule, up.rationale]);
    expect((await routes.next({ ...chat, override: { lane: "flagship_fast" } })).lane).toBe("flagship_fast");
    const others = models.routes();
    expect((await others.next(chat)).lane).toBe("flagship_fast");
    expect((await others.next(chat)).lane).toBe("flagship_fast");
    expect((await others.next(plan)).lane).toBe("flagship_deep");
  });

  it("stays with the deep model after the fast one failed", async () => {
    const server = await start(byModel({ quick: { fault: "http404" } }));
    const { models } = fixture(server);
    const routes = models.routes();
    const first = await routes.next(chat);
    const error = await failure(ask(models, {}, undefined, { route: first }));
    const next = await routes.failover(error);
    expect(next).toMatchObject({ lane: "flagship_deep", rule: "failure" });
    expect(routes.isRerouted()).toBe(true);
    expect(await routes.next(chat)).toBe(next);
    expect(routes.isRerouted()).toBe(false);
    expect(await routes.next(chat)).toMatchObject({ lane: "flagship_deep", rule: "failure" });
  });
});

describe("router.yaml while it is used", () => {
  it("holds from the next call on", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server);
    const changes: unknown[] = [];
    made.models.onChange((change) => "models" in change && changes.push(change));
    await ask(made.models, {}, undefined, { task: chat });
    made.writeRouter("deep_task_types: [chat]\n");
    await ask(made.models, {}, undefined, { task: chat });
    made.writeRouter("lanes: { flagship_fast: { model: other-model } }\n");
    await ask(made.models, {}, undefined, { task: chat });
    expect(asked(server)).toEqual(["quick", "strong", "other-model"]);
    expect(changes.length).toBeGreaterThanOrEqual(2);
  });

  it("that was never valid sends nothing, because it may keep everything on this machine", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { router: "failover: [local]\noffline: nowhere\n" });
    const error = await failure(made.models.routes().next(chat));
    expect([error.code, error.message]).toEqual([
      "unavailable",
      expect.stringContaining("config/router.yaml in the data folder, line 2") as string,
    ]);
    expect(server.requests).toEqual([]);
    made.writeRouter("offline: wait\n");
    expect((await made.models.routes().next(chat)).model.notice).toBeUndefined();
  });

  it("that is broken is said in the chat, in the state and in a receipt, once, and its last valid rules hold", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { router: "failover: [local]\n" });
    await made.models.routes().next(chat);
    made.writeRouter("failover: [local]\noffline: nowhere\n");
    const route = await made.models.routes().next(chat);
    expect(route.model.notice).toContain("config/router.yaml in the data folder, line 2: offline must be one of local, wait");
    await ask(made.models, {}, undefined, { task: plan });
    expect(asked(server)).toEqual(["strong"]);
    expect(made.models.router.stats().problem).toContain("line 2");
    expect(made.ledger.search({ query: "router_config_rejected", limit: 10 }).items).toHaveLength(1);
    made.writeRouter("offline: wait\n");
    expect((await made.models.routes().next(chat)).model.notice).toBeUndefined();
    expect(made.models.router.stats().problem).toBeNull();
  });

  it("names a provider that is not there: the lane fails with what to do, and nobody else is asked", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const made = fixture(server, { router: "lanes: { flagship_deep: { provider: nobody } }\n" });
    const error = await failure(ask(made.models, {}, undefined, { task: plan }));
    expect(error.message).toContain('There is no provider named "nobody"');
    expect(server.requests).toEqual([]);
    expect(made.models.router.stats().problem).toContain('lanes.flagship_deep.provider names "nobody"');
  });

  it("is checked as a text", () => {
    const made = createModelsFixture({});
    open.push(made);
    expect(made.models.lint("router", "offline: nowhere\n")).toMatchObject([{ severity: "critical", line: 1 }]);
    expect(made.models.lint("router", "failover: [anthropic]\n")).toEqual([]);
    expect(made.models.lint("models", "active: nobody\n")).toMatchObject([{ severity: "critical", line: 1 }]);
    expect(made.models.lint("models", "providers:\n  anthropic:\n    fast: { max_token: 1 }\n")).toMatchObject([
      { severity: "warning", line: 3 },
    ]);
  });
});

describe("an answer in a schema", () => {
  /** How a provider is told of a schema depends on the model. */
  const real = "fast: { model: claude-sonnet-5-5 }, deep: { model: claude-opus-5-5 }";
  const responseSchema = {
    name: "verdict",
    schema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false },
  };

  it.each(kinds)("of %s that does not hold it is asked for once more, with what was wrong", async (kind) => {
    const server = await start(inOrder({ text: '{"ok":"yes"}' }, { text: '{"ok":true}' }));
    const made = fixture(server, { kind, lanes: real });
    const { text, events } = await ask(made.models, { responseSchema }, undefined, { task: chat });
    expect(text).toBe('{"ok":true}');
    expect(events.filter((event) => event.type === "retry")).toHaveLength(1);
    expect(server.requests[1]?.messages.at(-1)?.text).toContain("schema verdict");
    expect(decisionsOf(made)).toMatchObject([{ success: true }]);
  });

  it("that never holds it goes to the deep model, and then fails", async () => {
    const server = await start(inOrder({ text: "Surely." }));
    const made = fixture(server, { lanes: real });
    const error = await failure(ask(made.models, { responseSchema }, undefined, { task: chat }));
    expect(error).toMatchObject({ code: "unavailable", data: { reason: "answer" } });
    expect(asked(server)).toEqual(["claude-sonnet-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-opus-5-5"]);
  });

  it("that is a call of a tool is none yet", async () => {
    const server = await start(inOrder({ toolCalls: [{ name: "read_file", args: { path: "a" } }] }));
    const tools = [
      {
        name: "read_file",
        description: "Reads",
        parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      },
    ];
    const { done } = await ask(fixture(server).models, { responseSchema, tools }, undefined, { task: chat });
    expect(done.stop).toBe("tool_calls");
  });
});

describe("caps and cost", () => {
  const usageOf: NonNullable<NonNullable<Parameters<typeof createModelsFixture>[0]>["usageOf"]> = (of) =>
    createUsage({ ...of, env: {}, emit: () => undefined, questName: () => null });
  const prices = "fast: { model: claude-sonnet-5-5 }, deep: { model: claude-opus-5-5 }";

  it("a call that could pass a cap is not made, not tried again, and no other model is asked", async () => {
    const server = await start(inOrder({ text: "ok", usage: { inputTokens: 1000, outputTokens: 100 } }));
    const made = fixture(server, {
      lanes: prices,
      usageOf(of) {
        const usage = createUsage({ ...of, env: {}, emit: () => undefined, questName: () => null });
        usage.setCaps({ questUsd: 0.000_001, dayUsd: null });
        return usage;
      },
    });
    const error = await failure(ask(made.models, {}, undefined, { task: chat, questId: "quest" }));
    expect(error).toMatchObject({ code: "denied", data: { reason: "cap" } });
    expect(server.requests).toEqual([]);
    expect(made.receipts()).toEqual([]);
    expect(decisionsOf(made)).toMatchObject([{ success: false, error: error.message }]);
  });

  it("each answer is counted and its cost is on its receipt", async () => {
    const server = await start(inOrder({ fault: "http503" }, { text: "ok", usage: { inputTokens: 1000, outputTokens: 100 } }));
    const made = fixture(server, { lanes: prices, usageOf });
    await ask(made.models, {}, undefined, { task: chat, questId: "quest" });
    const [failed, answered] = made.receipts();
    expect(failed?.metadata["costUsd"]).toBeUndefined();
    expect(answered?.metadata["costUsd"]).toBeGreaterThan(0);
  });
});
