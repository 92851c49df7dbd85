import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommand } from "../../../../agent-server/tools/repl/repl.ts";
import { splitArguments } from "../../../../agent-server/tools/repl/split-arguments.ts";
import { runs } from "../../../support/soak.ts";

describe("the arguments of a command line", () => {
  it.each([
    ["ls -la src", ["ls", "-la", "src"]],
    ["  cat   a.txt\t b.txt ", ["cat", "a.txt", "b.txt"]],
    ["cat 'a b.txt'", ["cat", "a b.txt"]],
    ['cat "a b.txt"', ["cat", "a b.txt"]],
    [String.raw`cat a\ b.txt`, ["cat", "a b.txt"]],
    [String.raw`grep "say \"hi\"" x`, ["grep", 'say "hi"', "x"]],
    [String.raw`grep 'a\b' x`, ["grep", String.raw`a\b`, "x"]],
    ["grep 'a|b;c>d&e(f)`g`$(h)' x", ["grep", "a|b;c>d&e(f)`g`$(h)", "x"]],
    ['grep "a|b;c" x', ["grep", "a|b;c", "x"]],
    ["cat ''", ["cat", ""]],
    ["cat a''b", ["cat", "ab"]],
    ["cat $HOME ~/x *.ts ${y}", ["cat", "$HOME", "~/x", "*.ts", "${y}"]],
    ["grep foo$ a", ["grep", "foo$", "a"]],
    [String.raw`grep \| a`, ["grep", "|", "a"]],
    ["", []],
  ])("%s", (command, message) => expect(splitArguments(command)).toEqual(message));

  it.each([
    ["cat a | sh", /pipes/i],
    ["cat a > b", /redirects/i],
    ["cat < a", /redirects/i],
    ["ls; rm -rf x", /further commands/i],
    ["ls && rm x", /further commands/i],
    ["ls\nrm x", /further lines/i],
    ["ls\rrm x", /further lines/i],
    ["ls $(rm x)", /command substitution/i],
    ['ls "$(rm x)"', /command substitution/i],
    ["ls `rm x`", /command substitution/i],
    ['ls "`rm x`"', /command substitution/i],
    ["(ls)", /subshells/i],
    ["ls 'a", /not closed/],
    ['ls "a', /not closed/],
    ["ls a\\", /backslash/],
    ["ls a\0b", /control characters/],
    ["ls \u001b[2J", /control characters/],
  ])("refuses other shell syntax: %j", (command, why) => expect(() => splitArguments(command)).toThrow(why));

  it("reads any argument in shell quotes unchanged", () => {
    const word = fc.string({ unit: "binary", maxLength: 40 }).filter((text) => !/[^\P{Cc}\t\n\r]/u.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (message) => {
        expect(splitArguments(message.map((one) => `'${one.replaceAll("'", `'\\''`)}'`).join(" "))).toEqual(message);
      }),
      { numRuns: runs(125, 500) },
    );
  });

  it("runs only the six commands", () => {
    for (const command of ["rm -rf .", "sh -c ls", "/bin/ls", "LS", "repl.ls", "git status", "./cat a", "__proto__", "constructor x"])
      expect(() => parseCommand(command)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(() => parseCommand("  ")).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(parseCommand("cp a b")).toEqual({ tool: "repl.cp", args: { argv: ["a", "b"] } });
  });
});
