import { describe, expect, it } from "vitest";
import type { ToolPart } from "../../../../agent-server/contract/chat.ts";
import { workingCommands } from "../../../../agent-server/quests/memory/learned-commands.ts";
import type { StoredMessage } from "../../../../agent-server/quests/stored-quest.ts";

type Ran = { text: string; exitCode?: number; cwd?: string; tool?: string; status?: ToolPart["status"]; ended?: "exit" | "timeout" };

function ran(...commands: Ran[]): StoredMessage[] {
  return commands.map(({ text, exitCode = 0, cwd = ".", tool = "run_command", status, ended = "exit" }, seq) => ({
    message: {
      id: `m${String(seq)}`,
      questId: "q",
      seq,
      role: "assistant",
      createdAt: new Date(seq).toISOString(),
      open: false,
      parts: [
        {
          ...{ type: "tool", callId: `c${String(seq)}`, tool, args: {}, title: text, tier: "T2", verdict: "allow", rules: [] },
          status: status ?? (exitCode === 0 ? "success" : "failure"),
          command: { text, cwd, place: null, network: false, exitCode, ended },
          ...{ output: "", durationMs: 1, receiptId: `r${String(seq)}`, approvalId: null, changeId: null },
        },
      ],
    },
    turn: null,
    attachments: null,
  }));
}

describe("commands that worked", () => {
  it.each<[string, Ran[], string[]]>([
    ["tests", [{ text: "npm test" }], ["Tests are run with `npm test`"]],
    ["tests of a folder", [{ text: "pytest -q", cwd: "api" }], ["Tests are run with `pytest -q` in api"]],
    ["a build", [{ text: "cargo build --release" }], ["The project is built with `cargo build --release`"]],
    ["a linter", [{ text: "npx eslint --max-warnings 0" }], ["The code is linted with `npx eslint --max-warnings 0`"]],
    ["types", [{ text: "npx tsc --noEmit" }], ["Types are checked with `npx tsc --noEmit`"]],
    ["a formatter", [{ text: "cargo fmt" }], ["The code is formatted with `cargo fmt`"]],
    ["a wrapper", [{ text: "./gradlew test" }], ["Tests are run with `./gradlew test`"]],
    ["one that failed first", [{ text: "npm test", exitCode: 1 }, { text: "npm test" }], ["Tests are run with `npm test`"]],
    ["the last of two that worked", [{ text: "npm test" }, { text: "npx vitest run" }], ["Tests are run with `npx vitest run`"]],
  ])("%s", (_name, commands, found) => {
    expect(workingCommands(ran(...commands)).map(({ content }) => content)).toEqual(found);
  });

  it.each<[string, Ran[]]>([
    ["failed", [{ text: "npm test", exitCode: 1 }]],
    ["failed the last time", [{ text: "npm test" }, { text: "npm test", exitCode: 1 }]],
    ["was aimed at a file", [{ text: "npx vitest run test/a.test.ts" }]],
    ["was aimed at a folder", [{ text: "npx eslint src/orders" }]],
    ["was piped", [{ text: "npm test | tail" }]],
    ["was joined", [{ text: "cd api && npm test" }]],
    ["held something to be run", [{ text: "npm test $(cat x)" }]],
    ["does no such work", [{ text: "ls -la" }]],
    ["only sounds like it", [{ text: "echo npm test" }]],
    ["ran too long", [{ text: "npm test", exitCode: 0, status: "failure", ended: "timeout" }]],
    ["was another tool's", [{ text: "npm test", tool: "other" }]],
  ])("none that %s", (_name, commands) => {
    expect(workingCommands(ran(...commands))).toEqual([]);
  });

  it("name the receipt that shows it", () => {
    expect(workingCommands(ran({ text: "npm test" }, { text: "npm test" }))).toEqual([
      { content: "Tests are run with `npm test`", receiptId: "r1" },
    ]);
  });
});
