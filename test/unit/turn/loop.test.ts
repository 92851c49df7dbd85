import { noUsage } from "../../../agent-server/contract/chat.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Part, ToolPart } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { maxCalls, maxCallsPerAnswer, maxPrompts, maxQuestTokens, maxTurns } from "../../../agent-server/quests/stop-rules.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { type Effect, recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, done, fails, hangs, says, scriptedModels } from "../../support/quests/scripted-models.ts";

const read: Effect = (call) => ({ text: `text of ${(call.args as { path: string }).path}` });
const basics = { read_file: { tier: "T0" as const, effect: read } };

let folders: ReturnType<typeof makeFolders>;
const open: { close(): Promise<void> }[] = [];

beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
  folders.remove();
});

function start(
  script: Answer[],
  effects: Parameters<typeof recordingTools>[0] = basics,
  active: Parameters<typeof scriptedModels>[1] = {},
) {
  const scripted = scriptedModels(script, active);
  const recorded = recordingTools(effects);
  const host = openHost(folders, scripted.models, recorded.tools);
  open.push(host);
  return { ...host, scripted, recorded };
}

const texts = (messages: Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
const parts = <T extends Part["type"]>(messages: Message[], type: T) =>
  messages.flatMap((message) => message.parts.filter((part): part is Extract<Part, { type: T }> => part.type === type));
const lastRequest = (requests: { messages: unknown[] }[]): string => JSON.stringify(requests.at(-1)?.messages);

describe("an ordinary request", () => {
  it("reads files, gets their text, and answers", async () => {
    const { orchestrator, reaches, scripted, ledger } = start([calls(["read_file", { path: "a.ts" }]), says("It adds two numbers.")]);
    const { questId } = orchestrator.send({ text: "What does a.ts do?\nBriefly." });
    const quest = await reaches(questId, "done");
    const { messages } = orchestrator.get(questId);
    expect(quest).toMatchObject({
      title: "What does a.ts do?",
      model: "test/scripted",
      problem: null,
      usage: { inputTokens: 20, outputTokens: 10 },
    });
    expect(texts(messages)).toEqual(["What does a.ts do?\nBriefly.", "Let me look.", "It adds two numbers."]);
    expect(parts(messages, "tool")[0]).toMatchObject({ status: "success", output: "text of a.ts", tier: "T0", receiptId: "receipt" });
    expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      results: [
        { text: expect.stringMatching(/^\[data ([0-9a-f]{16}) from read_file\]\ntext of a\.ts\n\[end \1\]$/) as string, isError: false },
      ],
    });
    expect(scripted.requests[0]?.system).toContain("You are Lancelot");
    expect(ledger.trace({ questId }).map(({ receipt }) => [receipt.actionName, receipt.status])).toEqual([["quest", "success"]]);
  });

  it("streams text as deltas that join to the stored message", async () => {
    const { orchestrator, reaches, events } = start([says("one two three four")]);
    const { questId } = orchestrator.send({ text: "Count." });
    await reaches(questId, "done");
    let text = "";
    for (const event of events) {
      if (event.topic !== "delta") continue;
      expect(event.payload.offset).toBe(text.length);
      text += event.payload.text;
    }
    const stored = texts(orchestrator.get(questId).messages)[1] ?? "";
    expect(text).not.toBe("");
    expect(stored.startsWith(text)).toBe(true);
    expect(stored).toBe("one two three four");
  });

  it("stores no secret the owner typed or the model wrote, and sends none", async () => {
    const secret = `sk-ant-api03-${"a1B2c3D4".repeat(11)}-abcdefAA`;
    const { orchestrator, reaches, scripted, storage } = start([says(`Your key is ${secret}.`)]);
    const { questId } = orchestrator.send({ text: `Use ${secret}` });
    await reaches(questId, "done");
    const stored = JSON.stringify(storage.db.prepare("SELECT * FROM messages").all());
    expect(stored).not.toContain(secret);
    expect(JSON.stringify(scripted.requests)).not.toContain(secret);
  });

  it("runs the reads of one answer concurrently and all other calls in order", async () => {
    const bothBegun = Promise.withResolvers<void>();
    let begun = 0;
    const together: Effect = async (call, note) => {
      begun += 1;
      if (begun === 2) bothBegun.resolve();
      await bothBegun.promise;
      note(`read ${(call.args as { path: string }).path}`);
      return {};
    };
    const inOrder: Effect = async (call, note) => {
      const { path } = call.args as { path: string };
      note(`begin ${path}`);
      await Promise.resolve();
      note(`end ${path}`);
      return {};
    };
    const { orchestrator, reaches, recorded } = start(
      [
        calls(["read_file", { path: "1" }], ["read_file", { path: "2" }]),
        calls(["edit_file", { path: "3" }], ["edit_file", { path: "4" }]),
        says("Done."),
      ],
      { read_file: { tier: "T0", effect: together }, edit_file: { tier: "T1", effect: inOrder } },
    );
    await reaches(orchestrator.send({ text: "Go." }).questId, "done");
    expect(recorded.log.slice(0, 2).sort()).toEqual(["read 1", "read 2"]);
    expect(recorded.log.slice(2)).toEqual(["begin 3", "end 3", "begin 4", "end 4"]);
  });

  it("distinguishes two calls with the same id", async () => {
    const twice: Answer = () => [
      done(
        [1, 2].map((n) => ({ type: "tool_call", id: "x", name: "read_file", args: { path: String(n) } })),
        "tool_calls",
      ),
    ];
    const { orchestrator, reaches, scripted } = start([twice, says("Done.")]);
    await reaches(orchestrator.send({ text: "Go." }).questId, "done");
    expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({
      results: [
        { callId: "x", text: expect.stringContaining("\ntext of 1\n") as string },
        { callId: "x-2", text: expect.stringContaining("\ntext of 2\n") as string },
      ],
    });
  });
});

describe("the loop stops with a reason and a next step", () => {
  it(`after ${String(maxTurns)} turns`, async () => {
    const script = Array.from({ length: maxTurns + 1 }, (_, index) => calls(["read_file", { path: String(index) }]));
    const { orchestrator, reaches, scripted } = start([...script]);
    const { questId } = orchestrator.send({ text: "Go." });
    const quest = await reaches(questId, "failed");
    expect(scripted.requests).toHaveLength(maxTurns);
    expect(quest.problem).toContain("50 steps");
    expect(parts(orchestrator.get(questId).messages, "notice").at(-1)).toMatchObject({ action: "resume" });
    scripted.script.splice(0, scripted.script.length, says("Finished."));
    orchestrator.resume(questId);
    await reaches(questId, "done");
  });

  it("when the token limit is reached; resuming allows as many more", async () => {
    const usage = { ...noUsage(), inputTokens: maxQuestTokens };
    const greedy: Answer = () => [done([{ type: "tool_call", id: "g", name: "read_file", args: { path: "a" } }], "tool_calls", { usage })];
    const { orchestrator, reaches, scripted } = start([greedy, says("Finished.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    expect((await reaches(questId, "failed")).problem).toContain("1,000,000 tokens");
    expect(scripted.requests).toHaveLength(1);
    orchestrator.resume(questId);
    await reaches(questId, "done");
  });

  it("returns the calls beyond the limit of one answer to the model, and says so", async () => {
    const wanted = 1_000;
    const flood = calls(
      ...Array.from({ length: wanted }, (_, index): [string, { path: string }] => ["read_file", { path: String(index) }]),
    );
    const { orchestrator, reaches, scripted, recorded } = start([flood, says("Enough.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "done");
    expect(recorded.invoked).toHaveLength(maxCallsPerAnswer);
    const { messages } = orchestrator.get(questId);
    const cards = parts(messages, "tool");
    expect(cards.filter(({ status }) => status === "success")).toHaveLength(maxCallsPerAnswer);
    expect(cards.filter(({ status }) => status === "cancelled")).toHaveLength(wanted - maxCallsPerAnswer);
    expect(parts(messages, "notice")).toContainEqual(
      expect.objectContaining({ level: "warning", text: expect.stringContaining("900") as string }),
    );
    // Every call has a result, so that the conversation stays valid.
    const last = scripted.requests[1]?.messages.at(-1);
    expect(last?.role === "tool" ? last.results : []).toHaveLength(wanted);
  });

  it(`after ${String(maxCalls)} calls; resuming allows as many more`, async () => {
    const step = (from: number): Answer =>
      calls(
        ...Array.from({ length: maxCallsPerAnswer }, (_, index): [string, { path: string }] => [
          "read_file",
          { path: String(from + index) },
        ]),
      );
    const steps = Array.from({ length: maxCalls / maxCallsPerAnswer + 1 }, (_, index) => step(index * maxCallsPerAnswer));
    const { orchestrator, reaches, scripted, recorded } = start(steps);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "failed");
    expect(recorded.invoked).toHaveLength(maxCalls);
    expect(parts(orchestrator.get(questId).messages, "notice").at(-1)).toMatchObject({ action: "resume" });
    scripted.script.splice(0, scripted.script.length, says("Finished."));
    orchestrator.resume(questId);
    await reaches(questId, "done");
  });

  it.each<[string, Effect]>([
    ["questions", async (call) => ({ text: (await call.askOwner?.("Which one?", undefined, call.signal)) ?? "" })],
    [
      "approval requests",
      (call) => {
        call.onUpdate?.({ status: "waiting", approvalId: `approval-${call.callId ?? ""}` });
        call.onUpdate?.({ status: "running" });
        return {};
      },
    ],
  ])("after too many %s, in one answer or in several; resuming allows as many more", async (_, effect) => {
    for (const perAnswer of [maxPrompts + 30, 7]) {
      const asks = (): Answer => calls(...Array.from({ length: perAnswer }, (__, index): [string, { n: number }] => ["ask", { n: index }]));
      const { orchestrator, reaches, scripted, recorded, events, when } = start(Array.from({ length: 20 }, asks), {
        ask: { tier: "T1", effect },
      });
      const { questId } = orchestrator.send({ text: "Go." });
      let seen = 0;
      const answered = new Set<string>();
      const answering = when(() => {
        for (const event of events.slice(seen)) {
          seen += 1;
          if (event.topic === "quest" && event.payload.waitingFor?.kind === "answer") {
            const { id } = event.payload.waitingFor;
            if (answered.has(id)) continue;
            answered.add(id);
            setImmediate(() => orchestrator.answer(questId, id, "That one."));
          }
        }
        return orchestrator.get(questId).quest.status === "failed";
      });
      await answering;
      expect(recorded.invoked).toHaveLength(maxPrompts);
      const { messages } = orchestrator.get(questId);
      expect(parts(messages, "notice").at(-1)).toMatchObject({ level: "warning", action: "resume" });
      if (perAnswer > maxPrompts)
        expect(parts(messages, "tool").at(-1)).toMatchObject({
          status: "cancelled",
          output: expect.stringContaining(String(maxPrompts)) as string,
        });
      scripted.script.splice(0, scripted.script.length, says("Finished."));
      orchestrator.resume(questId);
      await reaches(questId, "done");
    }
  });

  it("after three identical failures of a call, but not earlier or for different failures", async () => {
    let times = 0;
    const failing: Effect = (call) => {
      const { path } = call.args as { path: string };
      times += 1;
      return { text: path === "varied" ? `no, ${String(times)}` : "no such file", isError: true };
    };
    const again = calls(["read_file", { path: "gone" }]);
    const varied = calls(["read_file", { path: "varied" }]);
    const { orchestrator, reaches, recorded } = start([varied, varied, varied, again, again, again, says("Never asked.")], {
      read_file: { tier: "T0", effect: failing },
    });
    const { questId } = orchestrator.send({ text: "Go." });
    const quest = await reaches(questId, "failed");
    expect(recorded.invoked).toHaveLength(6);
    expect(quest.problem).toMatch(/read_file.*\(no such file\)/);
  });

  it("skips the calls after a repeated failure", async () => {
    const failing: Effect = () => ({ text: "no", isError: true });
    const once = calls(["edit_file", { path: "x" }]);
    const { orchestrator, reaches, recorded } = start([once, once, calls(["edit_file", { path: "x" }], ["edit_file", { path: "y" }])], {
      edit_file: { tier: "T1", effect: failing },
    });
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "failed");
    expect(recorded.invoked).toHaveLength(3);
    expect(parts(orchestrator.get(questId).messages, "tool").at(-1)).toMatchObject({
      status: "cancelled",
      output: "not run: the task was stopped",
    });
  });

  it.each<[string, unknown, string, string]>([
    ["no key", new LancelotError("unauthorized", "The key is missing."), "The key is missing.", "set_key"],
    ["no model", new LancelotError("unavailable", "No model."), "No model.", "choose_model"],
    ["a named step", new LancelotError("unavailable", "Fetch it.", { data: { action: "download_model" } }), "Fetch it.", "download_model"],
    ["a limit", new LancelotError("rate_limited", "Too many requests."), "Too many requests.", "resume"],
    ["a fault of ours", new TypeError("x is undefined"), "Lancelot had an internal error.", "show_log"],
  ])("when the model fails: %s", async (_name, error, expectedText, action) => {
    const { orchestrator, reaches, scripted } = start([fails(error, [{ type: "text", text: "I beg" }]), says("Now it works.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    const quest = await reaches(questId, "failed");
    expect(quest.problem).toContain(expectedText);
    const { messages } = orchestrator.get(questId);
    expect(parts(messages, "notice").at(-1)).toMatchObject({ level: "error", action });
    expect(texts(messages)).toEqual(["Go.", "I beg"]);
    expect(messages.every((message) => !message.open)).toBe(true);
    orchestrator.resume(questId);
    await reaches(questId, "done");
    expect(lastRequest(scripted.requests)).toContain("was cut off by an error");
  });

  it("when no model is available, and continues when one is", async () => {
    const { orchestrator, reaches, scripted } = start([says("Hello.")], basics, new LancelotError("unavailable", "Choose a model."));
    const { questId } = orchestrator.send({ text: "Go." });
    expect((await reaches(questId, "failed")).problem).toBe("Choose a model.");
    scripted.state.active = {};
    orchestrator.resume(questId);
    await reaches(questId, "done");
  });

  it("when the model declines", async () => {
    const { orchestrator, reaches } = start([says("I will not.", "refused")]);
    const { questId } = orchestrator.send({ text: "Go." });
    expect((await reaches(questId, "failed")).problem).toContain("declined");
    expect(texts(orchestrator.get(questId).messages)).toContain("I will not.");
  });

  it("when the answer is empty", async () => {
    const { orchestrator, reaches } = start([() => [done([], "end")]]);
    expect((await reaches(orchestrator.send({ text: "Go." }).questId, "failed")).problem).toContain("no answer");
  });
});

describe("invalid model output", () => {
  it("rejects arguments that are not a JSON object without running the call", async () => {
    const broken: Answer = () => [done([], "tool_calls", { malformed: [{ id: "m", name: "read_file", raw: '{"path": "a' }] })];
    const { orchestrator, reaches, scripted, recorded } = start([broken, says("Sorry.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "done");
    expect(recorded.invoked).toHaveLength(0);
    expect(scripted.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: "assistant", content: [{ type: "tool_call", id: "m", name: "read_file", args: {} }] },
      { role: "tool", results: [{ callId: "m", isError: true, text: expect.stringContaining("not a JSON object") as string }] },
    ]);
  });

  it("stops after the same malformed arguments three times", async () => {
    const broken: Answer = () => [done([], "tool_calls", { malformed: [{ id: "m", name: "read_file", raw: "{" }] })];
    const { orchestrator, reaches, scripted } = start([broken, broken, broken, says("Never asked.")]);
    await reaches(orchestrator.send({ text: "Go." }).questId, "failed");
    expect(scripted.requests).toHaveLength(3);
  });

  it("continues once after the length limit, then reports that the answer is cut off", async () => {
    const { orchestrator, reaches, scripted } = start([says("One,", "max_tokens"), says("two.")]);
    const first = orchestrator.send({ text: "Count." }).questId;
    await reaches(first, "done");
    expect(lastRequest(scripted.requests)).toContain("Continue exactly where you stopped");
    scripted.script.push(says("One,", "max_tokens"), says("two,", "max_tokens"));
    const second = orchestrator.send({ text: "Count." }).questId;
    expect((await reaches(second, "failed")).problem).toContain("cut off");
  });

  it("drops the text of a failed attempt and shows the complete retry", async () => {
    const retried: Answer = () => [
      { type: "text", text: "Half a" },
      { type: "retry", attempt: 2, delayMs: 1500, reason: "The provider is overloaded" },
      { type: "text", text: "A whole answer." },
      done([{ type: "text", text: "A whole answer." }], "end"),
    ];
    const { orchestrator, reaches, events } = start([retried]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "done");
    expect(texts(orchestrator.get(questId).messages)).toEqual(["Go.", "A whole answer."]);
    const shown = events.flatMap((event) => (event.topic === "message" && event.payload.role === "assistant" ? [event.payload.parts] : []));
    expect(shown).toContainEqual([
      { type: "notice", level: "info", text: expect.stringMatching(/^The provider is overloaded\. .*2 s/) as string },
    ]);
  });

  it("shows which server has not answered and for how long, until the answer begins", async () => {
    const slow: Answer = () => [
      { type: "waiting", displayName: "Our cluster", server: "127.0.0.1:8080", elapsedMs: 20_000, limitMs: 600_000 },
      { type: "waiting", displayName: "Our cluster", server: "127.0.0.1:8080", elapsedMs: 30_000, limitMs: 600_000 },
      { type: "text", text: "At last." },
      done([{ type: "text", text: "At last." }], "end"),
    ];
    const { orchestrator, reaches, events } = start([slow]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "done");
    expect(parts(orchestrator.get(questId).messages, "notice")).toEqual([]);
    const shown = events.flatMap((event) => (event.topic === "message" ? parts([event.payload], "notice") : []));
    expect(
      shown.map(({ text }) =>
        ["Our cluster", "127.0.0.1:8080", /\b[23]0 s\b/.exec(text)?.[0], "10 minutes"].filter(
          (word) => word === undefined || !text.includes(word),
        ),
      ),
    ).toEqual([[], []]);
    expect(new Set(shown.map(({ text }) => text)).size).toBe(2);
  });

  it("that alternates between text and reasoning without end keeps a bounded number of parts", async () => {
    const times = 5_000;
    const alternating: Answer = function* () {
      for (let index = 0; index < times; index++) {
        yield { type: "text", text: "a" };
        yield { type: "thinking", text: "b" };
      }
      throw new LancelotError("too_large", "Too much.", { data: { reason: "answer_too_large", action: "resume" } });
    };
    const { orchestrator, reaches, events } = start([alternating]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "failed");
    const answer = orchestrator.get(questId).messages.at(-1)?.parts ?? [];
    expect(answer.length).toBeLessThan(200);
    const joined = (type: "text" | "thinking"): number =>
      answer.reduce((sum, part) => sum + (part.type === type ? part.text.length : 0), 0);
    expect([joined("text"), joined("thinking")]).toEqual([times, times]);
    expect(events.filter(({ topic }) => topic === "message").length).toBeLessThan(200);
  });

  it("rejects an unknown tool", async () => {
    const { orchestrator, reaches, scripted } = start([calls(["fly", {}]), says("I cannot fly.")]);
    await reaches(orchestrator.send({ text: "Go." }).questId, "done");
    expect(lastRequest(scripted.requests)).toContain("There is no tool fly");
  });
});

describe("the user during a run", () => {
  it("steers: the message joins the next step", async () => {
    const reading = Promise.withResolvers<void>();
    const steered = Promise.withResolvers<void>();
    const slow: Effect = async () => {
      reading.resolve();
      await steered.promise;
      return { text: "read" };
    };
    const { orchestrator, reaches, scripted } = start([calls(["read_file", { path: "a" }]), says("In French then.")], {
      read_file: { tier: "T0", effect: slow },
    });
    const { questId } = orchestrator.send({ text: "Explain." });
    await reading.promise;
    orchestrator.steer(questId, "In French, please.");
    steered.resolve();
    await reaches(questId, "done");
    expect(scripted.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: "tool" },
      { role: "user", content: [{ text: "In French, please." }] },
    ]);
  });

  it("steers while the last answer streams: the model has one more turn", async () => {
    const streaming = Promise.withResolvers<void>();
    const steered = Promise.withResolvers<void>();
    const slow: Answer = async function* () {
      yield { type: "text", text: "All" };
      streaming.resolve();
      await steered.promise;
      yield done([{ type: "text", text: "All done." }], "end");
    };
    const { orchestrator, reaches, scripted } = start([slow, says("That too.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    await streaming.promise;
    orchestrator.send({ questId, text: "And that." });
    steered.resolve();
    await reaches(questId, "done");
    expect(scripted.requests).toHaveLength(2);
    expect(texts(orchestrator.get(questId).messages)).toEqual(["Go.", "All done.", "And that.", "That too."]);
  });

  it("stops while the model streams: the text is kept, and the model learns of the cut when it continues", async () => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator, reaches, scripted } = start([hangs("I was about", () => hanging.resolve()), says("On we go.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    await hanging.promise;
    const quest = await orchestrator.cancel(questId);
    expect(quest.status).toBe("cancelled");
    expect(texts(orchestrator.get(questId).messages)).toEqual(["Go.", "I was about"]);
    orchestrator.resume(questId);
    await reaches(questId, "done");
    expect(lastRequest(scripted.requests)).toContain("because the user stopped you");
  });

  it("stops while a tool runs: the tool is aborted and the later calls are not made", async () => {
    const running = Promise.withResolvers<void>();
    const stuck: Effect = (call) =>
      new Promise((_resolve, reject) => {
        call.signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")), { once: true });
        running.resolve();
      });
    const { orchestrator, recorded } = start([calls(["edit_file", { path: "a" }], ["edit_file", { path: "b" }])], {
      edit_file: { tier: "T1", effect: stuck },
    });
    const { questId } = orchestrator.send({ text: "Go." });
    await running.promise;
    await orchestrator.cancel(questId);
    expect(recorded.invoked).toHaveLength(1);
    const cards = parts(orchestrator.get(questId).messages, "tool");
    expect(cards.map((card: ToolPart) => [card.status, card.output])).toEqual([
      ["cancelled", expect.stringMatching(/^stopped/)],
      ["cancelled", expect.stringMatching(/^not run/)],
    ]);
  });

  it("stops before the first model call", async () => {
    const { orchestrator, scripted } = start([says("Never.")]);
    const { questId } = orchestrator.send({ text: "Go." });
    expect((await orchestrator.cancel(questId)).status).toBe("cancelled");
    expect(scripted.requests).toHaveLength(0);
  });

  it("answers only the open question, and only once", async () => {
    const ask: Effect = async (call) => ({ text: (await call.askOwner?.("Which one?", ["a", "b"], call.signal)) ?? "" });
    const { orchestrator, reaches, scripted } = start([calls(["ask_owner", { question: "Which one?" }]), says("b it is.")], {
      ask_owner: { tier: "T0", capability: "quest", effect: ask },
    });
    const { questId } = orchestrator.send({ text: "Go." });
    const { waitingFor } = await reaches(questId, "waiting");
    expect(waitingFor).toMatchObject({ kind: "answer", question: "Which one?", options: ["a", "b"] });
    const callId = waitingFor?.id ?? "";
    expect(() => orchestrator.answer(questId, "another", "a")).toThrow(expect.objectContaining({ code: "conflict" }));
    orchestrator.answer(questId, callId, "b");
    await reaches(questId, "done");
    expect(() => orchestrator.answer(questId, callId, "a")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({ results: [{ text: "b" }] });
  });

  it("edits and resends: later messages are removed, also for the model", async () => {
    const { orchestrator, reaches, scripted, events } = start([says("Bonjour."), says("Hola."), says("Hallo.")]);
    const { questId, messageId } = orchestrator.send({ text: "Say hello in French." });
    await reaches(questId, "done");
    orchestrator.send({ questId, text: "And in Spanish." });
    await reaches(questId, "done");
    orchestrator.send({ questId, text: "Say hello in German.", replaceMessageId: messageId });
    const quest = await reaches(questId, "done");
    expect(texts(orchestrator.get(questId).messages)).toEqual(["Say hello in German.", "Hallo."]);
    expect(quest.title).toBe("Say hello in German.");
    expect(scripted.requests[2]?.messages).toEqual([{ role: "user", content: [{ type: "text", text: "Say hello in German." }] }]);
    expect(events).toContainEqual(expect.objectContaining({ topic: "messagesRemoved", payload: { questId, fromSeq: 0 } }));
  });

  it("edits and resends during the run of the old message", async () => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator, reaches } = start([hangs("Old", () => hanging.resolve()), says("New.")]);
    const { questId, messageId } = orchestrator.send({ text: "Old words." });
    await hanging.promise;
    orchestrator.send({ questId, text: "New words.", replaceMessageId: messageId });
    await reaches(questId, "done");
    expect(texts(orchestrator.get(questId).messages)).toEqual(["New words.", "New."]);
  });

  it("cannot replace a message of another quest or of the model", async () => {
    const { orchestrator, reaches } = start([says("One."), says("Two.")]);
    const first = orchestrator.send({ text: "First." });
    await reaches(first.questId, "done");
    const second = orchestrator.send({ text: "Second." });
    await reaches(second.questId, "done");
    const answer = orchestrator.get(first.questId).messages[1]?.id ?? "";
    for (const replaceMessageId of [second.messageId, answer, "none"]) {
      expect(() => orchestrator.send({ questId: first.questId, text: "x", replaceMessageId })).toThrow(
        expect.objectContaining({ code: "not_found" }),
      );
    }
  });
});
