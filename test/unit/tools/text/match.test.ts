import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replaceText } from "../../../../agent-server/tools/text/match.ts";

const replace = (text: string, oldText: string, newText: string, replaceAll = false) => replaceText(text, { oldText, newText, replaceAll });

describe("edit matching", () => {
  it.each<[string, string, string, string, string]>([
    ["an exact part of a line", "let a = 1;\n", "a = 1", "b = 2", "let b = 2;\n"],
    ["exact lines", "a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n"],
    ["\\n for \\r\\n", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"],
    ["\\r\\n for \\n", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"],
    ["new lines get the file's line endings", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"],
    ["mixed line endings", "a\r\nb\nc\n", "a\nb\n", "x\n", "x\nc\n"],
    ["blanks at line ends in the file", "a  \nb\t\nc\n", "a\nb", "x\ny", "x\ny\nc\n"],
    ["blanks at line ends in old_text", "a\nb\nc\n", "a   \nb ", "x", "x\nc\n"],
    [
      "less indentation",
      "  if (x) {\n    y();\n  }\n",
      "if (x) {\n  y();\n}",
      "if (z) {\n  y();\n  w();\n}",
      "  if (z) {\n    y();\n    w();\n  }\n",
    ],
    [
      "more indentation",
      "if (x) {\n  y();\n}\n",
      "    if (x) {\n      y();\n    }",
      "    if (z) {\n      y();\n    }",
      "if (z) {\n  y();\n}\n",
    ],
    [
      "blanks for tabs",
      "\tif (x) {\n\t\ty();\n\t}\n",
      "  if (x) {\n    y();\n  }",
      "  if (x) {\n    z();\n  }",
      "\tif (x) {\n\t\tz();\n\t}\n",
    ],
    ["deleting lines", "a\n  b\n  c\nd\n", "b\nc\n", "", "a\nd\n"],
    ["a last line without newline", "  a\n  b", "a\nb\n", "a\nB\n", "  a\n  B"],
  ])("%s", (_name, text, oldText, newText, expected) => {
    expect(replace(text, oldText, newText)).toMatchObject({ ok: true, text: expected });
  });

  it("names every line when the place is not clear, and changes nothing", () => {
    expect(replace("x\na\nx\na\n", "a", "b")).toEqual({ ok: false, problem: expect.stringContaining("at 2 places, lines 2, 4") });
    expect(replace("  a\nx\n    a\n", "\ta\t", "b")).toEqual({ ok: false, problem: expect.stringContaining("lines 1, 3") });
  });

  it("replaces every place when asked to", () => {
    expect(replace("x\na\nx\na\n", "a", "b", true)).toMatchObject({ ok: true, text: "x\nb\nx\nb\n", count: 2, lines: [2, 4] });
    expect(replace("  a;\n  b;\n\n    a;\n    b;\n", "a;\nb;", "c;", true)).toMatchObject({ ok: true, text: "  c;\n\n    c;\n", count: 2 });
  });

  it.each<[string, string, string, RegExp]>([
    [
      "shows the nearest text",
      "function add(a, b) {\n  return a + b;\n}\n",
      "function add(a, c) {\n  return a + c;\n}",
      /nearest text is:\n1\tfunction add/,
    ],
    ["says when nothing is like it", "alpha\nbeta\n", "zzzz qqqq xxxx", /Nothing in the file is like it/],
    ["sees line numbers pasted from read_file", "one\ntwo\n", "1\tone\n2\ttwo", /line numbers of read_file/],
    ["refuses an edit that changes nothing", "a\n", "a", /same/],
    ["does not match blank lines anywhere", "a\n\n\n\nb\n", "  \n  ", /not in the file/],
    ["does not bend indentation that is not consistent", "a\n  b\nc\n", "  a\n  b\n  c", /not in the file/],
  ])("%s", (_name, text, oldText, expected) => {
    const newText = oldText === "a" ? "a" : "NEW";
    expect(replace(text, oldText, newText)).toEqual({ ok: false, problem: expect.stringMatching(expected) });
  });

  it("says when the file already reads like that", () => {
    expect(replace("  a\n", "a ", "a")).toMatchObject({ ok: false });
  });

  it("changes nothing outside the place it names, for any text", () => {
    const line = fc.constantFrom("a", "b", "  a", "\tb", "x y", "");
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 12 }),
        fc.array(line, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("\n", "\r\n"),
        (lines, wanted, eol) => {
          const text = lines.join(eol) + eol;
          const outcome = replace(text, wanted.join("\n"), "NEW");
          if (!outcome.ok) return;
          expect(outcome.lines).toHaveLength(1);
          const first = (outcome.lines[0] ?? 1) - 1;
          const before = lines.slice(0, first);
          const after = lines.slice(first + wanted.length);
          const result = outcome.text.split(eol);
          expect(result.slice(0, first)).toEqual(before);
          expect(result.slice(result.length - 1 - after.length, -1)).toEqual(after);
          expect(outcome.text.match(/NEW/g)).toHaveLength(1);
        },
      ),
    );
  });
});
