import { expect, it } from "vitest";
import type { Part, ToolPart } from "../../../agent-server/contract/chat.ts";
import { answerText, failedTests } from "../../../agent-server/quests/subtask-result.ts";

const governance = { commandNeeds: (command: string) => ({ network: null, tests: command.startsWith("test") }) };
const ran = (command: string, status: ToolPart["status"], more: Partial<ToolPart> = {}) =>
  ({ type: "tool", tool: "run_command", args: { command }, status, ...more }) as ToolPart;
const storeOf = (...parts: Part[]) => ({
  messages: () =>
    parts.map((part, seq) => ({
      message: { id: String(seq), questId: "q", seq, role: "assistant" as const, parts: [part], createdAt: "", open: false },
      ...{ turn: null, attachments: null },
    })),
});
const background = { command: { background: { id: "b" } } as ToolPart["command"] & {} };

it.each<[string, ToolPart[], string[]]>([
  ["no tests", [ran("ls", "failure")], []],
  ["tests that passed", [ran("test a", "success")], []],
  ["tests that failed", [ran("test a", "failure")], ["test a"]],
  ["tests that were mended", [ran("test a", "failure"), ran("test a", "success")], []],
  ["tests that broke", [ran("test a", "success"), ran("test a", "failure")], ["test a"]],
  ["others that passed in place of those that failed", [ran("test a", "failure"), ran("test b", "success")], ["test a"]],
  ["tests that were stopped", [ran("test a", "cancelled")], ["test a"]],
  ["tests that did not run", [ran("test a", "denied")], []],
  ["tests that still ran", [ran("test a", "success", background)], ["test a"]],
])("finds which tests failed last: %s", (_what, parts, expected) => {
  expect(failedTests(storeOf(...parts), governance, "q")).toEqual(expected);
});

it("takes the last text as the answer", () => {
  expect(answerText(storeOf({ type: "text", text: "One." }, { type: "text", text: "Two." }, ran("ls", "success")), "q")).toBe("Two.");
  expect(answerText(storeOf(), "q")).toBe("");
});
