import { type Command, parse, type Word } from "unbash";
import { describe, expect, it } from "vitest";
import {
  dropsCommands,
  dropsWords,
  hasOpenSum,
  isOpenExpansion,
  isPlainMark,
} from "../../../../agent-server/governance/policy/commands/shell-source.ts";

function first(text: string): Command {
  const node = parse(text).commands[0]?.command;
  if (node?.type !== "Command") throw new Error(`no simple command first: ${text}`);
  return node;
}

function lastWord(text: string): Word {
  const word = first(text).args.at(-1);
  if (word?.type !== "Word") throw new Error(`no word last: ${text}`);
  return word;
}

describe("what the parser left out of the tree", () => {
  it.each([
    "ls",
    "ls -la  src",
    "ls \\\n -la",
    "A=1 ls > out.txt 2>&1",
    "> out.txt ls",
    "cat <<E x\nbody\nE",
    "2>/dev/null ls src",
    "cat < 2 > 1",
    "ls\t-la",
  ])("%j: every word has its place", (text) => expect(dropsWords(first(text), text)).toBe(false));

  it("is judged in linear time behind a comment of number signs", () => {
    const text = ` ${"#".repeat(50_000)}\nx`;
    expect(dropsCommands({ ...parse(""), pos: 0, end: text.length }, text)).toBe(true);
  });

  it.each(["ls ( -n", "cat ( x", "cat <<< 2>&1", "cat < 2>&1", "cat < 2>>x"])("%j: something between the words is dropped", (text) =>
    expect(dropsWords(first(text), text)).toBe(true),
  );

  it.each([
    "ls",
    "ls; ls",
    "ls\n\nls # end",
    "# begin\nls &",
    "ls;\\\n ls",
    "cat <<E\n( body ) )\nE\nls",
    "cat <<E\nbody without an end (",
    "cat <<A <<B\n(\nA\n)\nB\n",
    " ls ",
    "",
  ])("%j: every command has its place", (text) => expect(dropsCommands(parse(text), text)).toBe(false));

  it.each(["head(", "ls (", "ls -n ( x", "ls\nhead( ", "head( # x", "cat <<E\nbody\nE\nhead( "])(
    "%j: something after the commands is dropped",
    (text) => expect(dropsCommands(parse(text), text)).toBe(true),
  );
});

describe("marks of heredocs", () => {
  it.each([
    ["E", true],
    ["'E F'", true],
    ['"E"', true],
    ["\\E", true],
    ["E'x'\"y\"\\z", true],
    ["'E", false],
    ['E"', false],
    ["E`x`", false],
    ["$(x)", false],
    ["E$x", false],
    ["'E\nF'", false],
    ['"$x"', false],
    ["E(", false],
  ])("%j is plain: %s", (text, plain) =>
    expect(isPlainMark({ type: "HereDocDelimiter", pos: 0, end: 0, text, value: text, quoted: false })).toBe(plain),
  );
});

describe("expansions left open", () => {
  it.each([
    ["$(ls)", "CommandExpansion", false],
    ["$(ls", "CommandExpansion", true],
    ["`ls`", "CommandExpansion", false],
    ["`", "CommandExpansion", true],
    ["`ls", "CommandExpansion", true],
    ["${ ls; }", "CommandExpansion", true],
    ["${x}", "ParameterExpansion", false],
    ["${x", "ParameterExpansion", true],
    ["$((1))", "ArithmeticExpansion", false],
    ["$((1)", "ArithmeticExpansion", true],
    ["$x", "SimpleExpansion", false],
  ] as const)("%j as %s: %s", (text, type, open) => expect(isOpenExpansion({ type, text })).toBe(open));

  it.each([
    ["ls r$[n", true],
    ["ls -$[", true],
    ['ls "a$[b"', true],
    ["ls a$[b*", true],
    ["ls $[1]", false],
    ['ls "$[1]"', false],
    ["ls 'a$[b'", false],
    ["ls a'$[b'c", false],
    ["ls $'a$[b'", false],
    ["ls a\\$[b", false],
    ["ls abc", false],
  ])("%j: an open sum is seen: %s", (text, open) => expect(hasOpenSum(lastWord(text))).toBe(open));
});
