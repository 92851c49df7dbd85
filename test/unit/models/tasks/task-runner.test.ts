import { afterEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { ableModel, createTasksFixture, scripted, type TasksFixture } from "../../../support/models/tasks-fixture.ts";

let fixture: TasksFixture | undefined;
function open(...over: Parameters<typeof createTasksFixture>): TasksFixture {
  fixture = createTasksFixture(...over);
  return fixture;
}
afterEach(() => {
  fixture?.close();
  fixture = undefined;
  vi.useRealTimers();
});

const schema = { type: "object", properties: { port: { type: "integer", minimum: 1, maximum: 65_535 } }, required: ["port"] };

describe("who did a task", () => {
  it("is the rules where there is no model, and the receipt says why", async () => {
    const { tasks, receipts, decisions, context } = open();
    expect(await tasks.classifyIntent({ text: "Fix the failing test" }, context)).toMatchObject({
      intent: "EXEC_REQUEST",
      method: "rules",
      risk: "high",
    });
    expect(receipts()).toMatchObject([
      {
        actionType: "system",
        actionName: "local/classify_intent",
        status: "success",
        metadata: {
          method: "rules",
          lane: "local_utility",
          reason: expect.stringMatching(/intent classifier's model.*No local model is ready/),
        },
        outputs: { intent: "EXEC_REQUEST" },
      },
    ]);
    expect(decisions).toMatchObject([
      {
        taskType: "classify_intent",
        lane: "local_utility",
        provider: "none",
        model: "rules",
        rule: "local_task",
        success: true,
        receiptId: receipts()[0]?.id,
      },
    ]);
    expect(decisions[0]?.alternatives).toHaveLength(2);
  });

  it("is a model that is good enough: a call with its lane, usage and model", async () => {
    const counted: unknown[] = [];
    const { tasks, receipts, decisions, context } = open({
      model: () => ableModel,
      stream: scripted(['{"port": 8080}']),
      count: (call) => counted.push(call),
    });
    expect(await tasks.extractJson("it listens there", schema, context)).toEqual({ value: { port: 8080 }, method: "model" });
    expect(receipts()).toMatchObject([
      {
        actionType: "llm_call",
        actionName: "local/extract_json",
        status: "success",
        tokenCount: 25,
        metadata: { lane: "local_utility", model: "able.gguf", method: "model" },
      },
    ]);
    expect(decisions).toMatchObject([{ provider: "local", model: "able.gguf", success: true }]);
    expect(counted).toMatchObject([{ model: "able.gguf", lane: "local_utility", usage: { inputTokens: 20, outputTokens: 5 } }]);
  });

  it.each([
    ["not suitable", { ...ableModel, tasks: [] }],
    ["is not loaded", { ...ableModel, loaded: false }],
    ["too long", { ...ableModel, contextWindow: 512 }],
  ])("is the rules where the model %s", async (reason, model) => {
    const { tasks, receipts, context } = open({ model: () => model });
    expect(await tasks.classifyIntent({ text: "where is the login handled?" }, context)).toMatchObject({ method: "rules" });
    expect(receipts()[0]?.metadata["reason"]).toContain(reason);
  });

  it("is the rules where the owner's routing gives the task to no model here", async () => {
    const { tasks, receipts, decisions, context } = open({
      model: () => ableModel,
      route: () => ({ lane: "flagship_fast", rule: "default", rationale: "Nothing in it asks for more." }),
    });
    expect(await tasks.summarize("Short.", 100, context)).toEqual({ text: "Short.", method: "rules" });
    expect(receipts()[0]?.metadata["reason"]).toContain("Your routing");
    expect(decisions).toMatchObject([{ lane: "local_utility", provider: "none" }]);
  });

  it.each<[string, Parameters<typeof scripted>[0], RegExp]>([
    ["fails", [new LancelotError("unavailable", "The local model's process ended unexpectedly.")], /ended unexpectedly/],
    ["answers what is no JSON, twice", ["no", "still no"], /not JSON/],
    ["answers against the schema, twice", ['{"port": 0}', '{"port": 99999999}'], /schema/],
    ["is cut off, twice", [{ cut: '{"port": 80' }, { cut: '{"port": 80' }], /truncated/],
  ])("is the rules after a model that %s; its receipt is a failure", async (_, answers, why) => {
    const { tasks, receipts, decisions, context } = open({ model: () => ableModel, stream: scripted(answers) });
    expect(await tasks.extractJson("The port is 8080.", schema, context)).toEqual({ value: { port: 8080 }, method: "rules" });
    expect(receipts()).toMatchObject([
      { actionType: "llm_call", status: "failure", errorMessage: expect.stringMatching(why) },
      { actionType: "system", status: "success", metadata: { reason: expect.stringMatching(why) } },
    ]);
    expect(decisions).toHaveLength(1);
  });

  it("is the model on its second try, told what was wrong with the first", async () => {
    const asked: number[] = [];
    const answers = scripted(['{"port": 0}', '{"port": 443}']);
    const { tasks, context } = open({
      model: () => ableModel,
      stream: (request, ...rest) => {
        asked.push(request.messages.length);
        return answers(request, ...rest);
      },
    });
    expect(await tasks.extractJson("x", schema, context)).toEqual({ value: { port: 443 }, method: "model" });
    expect(asked).toEqual([1, 3]);
  });

  it("gets twice the room after an answer that was cut off", async () => {
    const room_: (number | undefined)[] = [];
    const answers = scripted([{ cut: '{"po' }, '{"port": 443}']);
    const { tasks, context } = open({
      model: () => ableModel,
      stream: (request, ...rest) => {
        room_.push(request.maxTokens);
        return answers(request, ...rest);
      },
    });
    expect(await tasks.extractJson("x", schema, context)).toMatchObject({ method: "model" });
    expect(room_[1]).toBe((room_[0] ?? 0) * 2);
  });

  it("stops on request, and says so on the receipt", async () => {
    const stop = new AbortController();
    const { tasks, receipts, context } = open({ model: () => ableModel, stream: scripted([null]) });
    const running = tasks.extractJson("port 1", schema, { ...context, signal: stop.signal });
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(receipts()).toMatchObject([{ actionType: "llm_call", status: "cancelled" }]);
  });

  it("is nobody where neither finds it: that is an error, and a receipt", async () => {
    const { tasks, receipts, decisions, context } = open();
    await expect(tasks.extractJson("nothing of the kind", schema, context)).rejects.toMatchObject({ code: "unavailable" });
    expect(receipts()).toMatchObject([{ actionType: "system", status: "failure" }]);
    expect(decisions).toMatchObject([{ success: false, error: expect.stringContaining("not found") }]);
  });

  it("refuses a schema that is none", async () => {
    const { tasks, context } = open();
    await expect(tasks.extractJson("x", { type: "nonsense" }, context)).rejects.toMatchObject({ code: "invalid_params" });
  });

  it("keeps what must not be kept off the receipts", async () => {
    const { tasks, receipts, context } = open();
    const secret = "sk-ant-api03-" + "a".repeat(80);
    await tasks.classifyIntent({ text: `use ${secret} please` }, context);
    await tasks.redact("Call Anna Schmidt, anna@nordwind-kontor.de", context);
    const reported = JSON.stringify(receipts());
    expect(reported).not.toContain(secret);
    expect(reported).not.toContain("anna@nordwind-kontor.de");
  });
});

describe("a model's word is not taken for what it is not", () => {
  it("a summary that names what the text does not", async () => {
    const text = "The parser in src/parse.ts was slow. ".repeat(40);
    const { tasks, receipts, context } = open({
      model: () => ableModel,
      stream: scripted(['{"summary": "The work in the file src/lexer.ts took 512 ms in all."}']),
    });
    const { text: summary, method } = await tasks.summarize(text, 60, context);
    expect(method).toBe("rules");
    expect(summary).toContain("src/parse.ts");
    expect(receipts()[0]).toMatchObject({ status: "failure", errorMessage: expect.stringContaining("src/lexer.ts") });
  });

  it("names that do not stand in the text, or in code; what the rules found stays", async () => {
    const text = "Marlene Okafor wrote to bob@nordwind-kontor.de from Lindenweg 12. Call fetchUser() and new Date().";
    const { tasks, context } = open({
      model: () => ableModel,
      stream: scripted(['{"people": ["Marlene Okafor", "John Doe", "Date", "fetchUser"], "places": ["Lindenweg 12", "Paris"]}']),
    });
    const { matches, method } = await tasks.redact(text, context);
    expect(method).toBe("model");
    const found = matches.map(({ start, end }) => text.slice(start, end));
    expect(found).toContain("Marlene Okafor");
    expect(found).toContain("bob@nordwind-kontor.de");
    expect(found.some((one) => one.includes("Lindenweg 12"))).toBe(true);
    expect(found).not.toContain("Date");
    expect(found).not.toContain("fetchUser");
    for (const [index, match] of matches.entries()) expect(match.start).toBeGreaterThanOrEqual(matches[index - 1]?.end ?? 0);
  });
});
