import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IntentResult } from "../../../../agent-server/contract/intent.ts";
import { type TaskType, taskTypeOf } from "../../../../agent-server/models/router/task-type.ts";

const intent = (over: Partial<IntentResult>): IntentResult => ({
  intent: "EXEC_REQUEST",
  confidence: 0.9,
  isContinuation: false,
  requiresTools: true,
  risk: "low",
  method: "embedding",
  ...over,
});

describe("what a message asks for", () => {
  it.each<[text: string, type: TaskType]>([
    ["/plan a new login", "plan"],
    ["/review", "review"],
    ["/fix the tests", "debug"],
    ["/test parse.ts", "test"],
    ["/explain", "explain"],
    ["/ask where is main?", "question"],
    ["/commit", "commit"],
    ["/PLAN it", "plan"],
    ["/planet earth", "chat"],
    ["/tmp/x is full of logs", "chat"],
    ["Make a plan for the migration", "plan"],
    ["Plan how to split this package", "plan"],
    ["please plan the rollout", "plan"],
    ["Give me a roadmap", "plan"],
    ["come up with a test strategy", "plan"],
    ["Review my changes", "review"],
    ["Could you review this pull request?", "review"],
    ["do a security review of the auth module", "review"],
    ["Audit the dependencies", "review"],
    ["Find out why the duration test fails and fix it", "debug"],
    ["Why does parse crash on empty input?", "debug"],
    ["fix the failing test in parse.ts", "debug"],
    ["find the bug", "debug"],
    ["The button does not work", "debug"],
    ["here is a stack trace", "debug"],
    ["Analyze the performance of the parser", "analyze"],
    ["compare zod with valibot", "analyze"],
    ["What are the trade-offs of SQLite here?", "analyze"],
    ["Investigate the memory use", "analyze"],
    ["Decide whether we use SQLite or Postgres", "decide"],
    ["please decide between zod and valibot", "decide"],
    ["help me choose a queue", "decide"],
    ["Which one should we use?", "decide"],
    ["suggest a caching strategy", "strategy"],
    ["what is our best testing strategy", "strategy"],
    ["We need a strategy for the rollout", "strategy"],
    ["Evaluate the new parser", "evaluate"],
    ["can you evaluate both options", "evaluate"],
    ["an evaluation of the two libraries", "evaluate"],
    ["Diagnose the slow start", "diagnose"],
    ["look at the log and diagnose the hang", "diagnose"],
    ["help me diagnose this", "diagnose"],
    // The word as the subject of another request.
    ["What is the Strategy pattern?", "question"],
    ["Rename the strategy class", "edit"],
    ["Add a decide() function", "edit"],
    ["rename evaluate to run", "edit"],
    ["Design a schema for invoices", "architect"],
    ["How should we structure the repository?", "architect"],
    ["propose an architecture for the sync", "architect"],
    ["Write unit tests for add", "test"],
    ["commit this with a good message", "commit"],
    ["Explain how the router works", "explain"],
    ["summarize this file", "explain"],
    ["Rename parse to parseLine", "edit"],
    ["Add a --json flag", "edit"],
    ["What is in this folder?", "question"],
    ["where is the config read", "question"],
    ["Hello!", "chat"],
    ["thanks", "chat"],
    ["", "chat"],
    // What is quoted or shown is not what is asked.
    ["What does `plan()` do?", "question"],
    ["Rename this:\n```\n// review this and debug the crash\n```", "edit"],
  ])("%s → %s", (text, type) => {
    expect(taskTypeOf({ text })).toBe(type);
  });

  it.each<[text: string, before: TaskType | null, type: TaskType]>([
    ["yes", "plan", "plan"],
    ["Yes, do it.", "plan", "plan"],
    ["go on", "debug", "debug"],
    ["ok, continue", "review", "review"],
    ["weiter", "analyze", "analyze"],
    ["yes", null, "chat"],
    ["yes, but rename parse first", "plan", "edit"],
    ["continue the plan for the parser, and add a flag", "chat", "edit"],
  ])("%s after %s is %s", (text, before, type) => {
    expect(taskTypeOf({ text, before })).toBe(type);
  });

  it.each<[text: string, given: Partial<IntentResult>, type: TaskType]>([
    ["I want to get rid of the legacy parser over the next weeks", { intent: "PLAN_REQUEST" }, "plan"],
    ["I want to get rid of the legacy parser over the next weeks", { intent: "PLAN_REQUEST", confidence: 0.3 }, "chat"],
    ["Add a flag and think about how we roll it out", { intent: "MIXED_REQUEST" }, "plan"],
    ["Review my changes", { intent: "PLAN_REQUEST" }, "review"],
    ["the parser, tell me", { intent: "KNOWLEDGE_REQUEST" }, "question"],
    ["parser läuft, neue Zeile bitte", { intent: "EXEC_REQUEST" }, "edit"],
    ["hm, that thing there", { intent: "CONVERSATIONAL" }, "chat"],
  ])("%s, which the intent lane calls %j, is %s", (text, given, type) => {
    expect(taskTypeOf({ text, intent: intent(given) })).toBe(type);
  });

  it("continues with what was asked before where the intent lane says so", () => {
    expect(taskTypeOf({ text: "the second one", before: "plan", intent: intent({ isContinuation: true }) })).toBe("plan");
  });

  it("is never a local task, and always the same, for any text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (text) => {
        const type = taskTypeOf({ text });
        expect(["classify_intent", "verify_intent", "extract_json", "summarize", "redact", "rag_rewrite"]).not.toContain(type);
        expect(taskTypeOf({ text })).toBe(type);
      }),
    );
  });
});
