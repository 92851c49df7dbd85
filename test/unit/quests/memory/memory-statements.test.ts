import { describe, expect, it } from "vitest";
import { statementForms, statementsIn } from "../../../../agent-server/quests/memory/memory-statements.ts";

describe("the forms of a statement", () => {
  it.each(statementForms.flatMap(({ id, pattern, match }) => match.map((text) => ({ id, pattern, text }))))(
    "$id: $text",
    ({ pattern, text }) => {
      expect(pattern.test(text)).toBe(true);
    },
  );
  it.each(statementForms.flatMap(({ id, pattern, not_match }) => not_match.map((text) => ({ id, pattern, text }))))(
    "$id, not: $text",
    ({ pattern, text }) => {
      expect(pattern.test(text)).toBe(false);
    },
  );
  it.each(statementForms.flatMap(({ id, kind, match }) => match.map((text) => ({ id, kind, text }))))(
    "$id is found: $text",
    ({ kind, text }) => {
      expect(statementsIn(text).map((one) => one.kind)).toEqual([kind]);
    },
  );
});

describe("the statements of a message", () => {
  it.each<[string, string, string[]]>([
    ["some beside a task", "Fix the build. We use pnpm. Never touch generated/!", ["We use pnpm", "Never touch generated/"]],
    ["a correction", "No, not npm, pnpm.", ["pnpm, not npm"]],
    ["a correction, the right one first", "Actually, we use Vitest, not Jest.", ["Vitest, not Jest"]],
    ["in a list", "Some rules:\n- Never push to main.\n- we use squash merges", ["Never push to main", "we use squash merges"]],
    ["a question", "We use pnpm, right?", []],
    ["a supposition", "If we use pnpm, change the script.", []],
    ["for this task", "Never run the tests for now.", []],
    ["what was ordered to be remembered", "Remember that we use pnpm.", []],
    ["code", "```\nNever touch generated/.\n```", []],
    ["a quotation", "> We use pnpm.", []],
    ["what somebody else said", "We use what Bob said.", []],
    ["a task", "Add a button to the page and make it blue.", []],
  ])("%s", (_name, text, found) => {
    expect(statementsIn(text).map(({ content }) => content)).toEqual(found);
  });

  it("are not looked for in a page, and are found in bounded time", () => {
    expect(statementsIn("We use pnpm. ".repeat(1_000))).toEqual([]);
    expect(statementsIn(`no, not ${"a ".repeat(100)}, b`)).toEqual([]);
    expect(statementsIn(`the ${"a-".repeat(3_900)}`)).toEqual([]);
  });
});
