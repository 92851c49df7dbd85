import { createTwoFilesPatch } from "diff";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { candidatePaths } from "../../../extension/editor/output-path.ts";
import { canBeTyped, safeForTerminal } from "../../../extension/editor/terminal-text.ts";
import { textBefore } from "../../../extension/review/text-before.ts";

const esc = "\u001b";

describe("where a printed path may lie", () => {
  it.each([
    ["src/a.ts", ".", ["src/a.ts"]],
    ["src/a.ts", "packages/shop", ["packages/shop/src/a.ts", "src/a.ts"]],
    ["./a.ts", "packages/shop", ["packages/shop/a.ts", "a.ts"]],
    ["../core/a.ts", "packages/shop", ["packages/core/a.ts"]],
    ["../../../etc/passwd", "packages/shop", []],
    ["/work/shop/src/a.ts", ".", ["src/a.ts"]],
    ["/work/shop-evil/a.ts", ".", []],
    ["/work/shop/../secret", ".", []],
    ["/etc/passwd", ".", []],
    ["C:\\other\\a.ts", ".", []],
    ["src\\a.ts", ".", ["src/a.ts"]],
    [".", ".", []],
  ])("%s, printed in %s: %j", (path, cwd, places) => expect(candidatePaths(path, cwd, "/work/shop")).toEqual(places));

  it("never leads out of the workspace", () => {
    const segment = fc.constantFrom("..", ".", "a", "b.ts", "", "C:", "\\..\\");
    fc.assert(
      fc.property(fc.array(segment), fc.array(segment), fc.boolean(), (path, cwd, absolute) => {
        for (const place of candidatePaths(`${absolute ? "/work/shop/" : ""}${path.join("/")}`, cwd.join("/"), "/work/shop")) {
          expect(place.split("/")).not.toContain("..");
          expect(place.startsWith("/")).toBe(false);
        }
      }),
    );
  });
});

describe("an output in the owner's terminal", () => {
  it.each([
    ["keeps text, lines and colours", `a\n${esc}[31mb${esc}[0m`, `a\r\n${esc}[31mb${esc}[0m`],
    ["keeps the last state of a progress bar", "10 %\r20 %\r\ndone", "20 %\r\ndone"],
    ["asks the terminal nothing", `${esc}[6n${esc}[c${esc}P$qm${esc}\\x`, "x"],
    ["sets no clipboard, title or working folder", `${esc}]52;c;cm0=\u0007${esc}]0;t\u0007${esc}]633;P;Cwd=/x\u0007y`, "y"],
    ["moves no cursor and clears nothing", `${esc}[2J${esc}[Hx${esc}[10A`, "x"],
    ["keeps no part of a sequence without an end", `a${esc}]52;c;cm0=`, "a"],
    ["rings no bell", "a\u0007\u0008b", "ab"],
    ["takes eight-bit sequences for what they are", "\u009b6nx\u009d52;c;a\u009cy", "xy"],
  ])("%s", (_, printed, shown) => expect(safeForTerminal(printed)).toBe(shown));

  it("holds no sequence but styles, whatever was printed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(esc, `${esc}[`, `${esc}]`, "m", "\u009b", "6n", "\r"))),
        (parts) => {
          // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
          const rest = safeForTerminal(parts.join("")).replace(/\u001b\[[\d;:]*m|\r\n/g, "");
          // oxlint-disable-next-line no-control-regex -- as above
          expect(rest).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/);
        },
      ),
    );
  });

  it("is its last part, from the beginning of a line, where it is very long", () => {
    const shown = safeForTerminal("0123456789\n".repeat(50_000));
    expect(shown.length).toBeLessThan(130_000);
    expect(shown.startsWith("0123456789\r\n")).toBe(true);
  });
});

describe("a command that is typed and not run", () => {
  it.each([
    ["npm test -- --run 'a b'", true],
    ["echo ünïcode 😀", true],
    ["one\ntwo", false],
    ["one\rtwo", false],
    ["a\u0003b", false],
    [`a${esc}[A`, false],
    ["echo ⟨U+202E⟩x", false],
    ["x".repeat(4001), false],
  ])("%j: %s", (command, typed) => expect(canBeTyped(command)).toBe(typed));
});

describe("the text before a command", () => {
  const lines = fc
    .array(fc.constantFrom("a", "b", "", "c d", "e"), { maxLength: 12 })
    .map((all) => all.map((line) => `${line}\n`).join(""));
  it("is reconstructed from the current text and the reverse diff", () => {
    fc.assert(
      fc.property(lines, lines, (before, now) => {
        fc.pre(before !== now);
        expect(textBefore(now, createTwoFilesPatch("a/x", "b/x", now, before))).toBe(before);
      }),
    );
  });

  it.each([
    ["a diff of another text", "other\n", createTwoFilesPatch("a/x", "b/x", "one\n", "two\n")],
    ["no text diff", "x", "Binary files differ\n"],
    ["nothing", "x", ""],
  ])("is not made up of %s", (_, now, diff) => expect(textBefore(now, diff)).toBeNull());
});
