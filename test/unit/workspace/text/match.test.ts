import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replaceText } from "../../../../agent-server/workspace/text/match.ts";
import { runs } from "../../../support/soak.ts";

const replace = (text: string, oldText: string, newText: string, replaceAll = false) => replaceText(text, { oldText, newText, replaceAll });

describe("edit matching", () => {
  it.each<[string, string, string, string, string]>([
    ["an exact part of a line", "let a = 1;\n", "a = 1", "b = 2", "let b = 2;\n"],
    ["exact lines", "a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n"],
    ["\\n for \\r\\n", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"],
    ["\\r\\n for \\n", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"],
    ["new lines get the file's line endings", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"],
    ["mixed line endings: a line in the place of another takes its end", "a\r\nb\nc\n", "a\nb\n", "x\n", "x\r\nc\n"],
    ["mixed line endings: lines that stay keep theirs", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\r\nB\nc\r\nd\n"],
    ["line numbers pasted from read_file", "one\ntwo\nthree\n", "1\tone\n2\ttwo", "1\tone\nnew\n2\tTWO", "one\nnew\nTWO\nthree\n"],
    ["blank lines that were lost", "a {\n\n  b\n\n\n  c\n}\n", "a {\n  b\n  c\n}", "a {\n  b\n  C\n}", "a {\n\n  b\n\n\n  C\n}\n"],
    ["blank lines that were added", "a {\n  b\n  c\n}\n", "a {\n\n  b\n  c\n}", "a {\n\n  b\n  C\n}", "a {\n  b\n  C\n}\n"],
    [
      "typographic quotes",
      "x = 'a' + \"b\";\ny();\n",
      "x = \u2018a\u2019 + \u201cb\u201d;\ny();",
      "x = \u2018a\u2019 + \u201cc\u201d;\nz(\u201cd\u201d);",
      'x = \'a\' + "c";\nz("d");\n',
    ],
    [
      "plain quotes for typographic ones",
      "It\u2019s \u201cso\u201d \u2013 yes\u2026\nend\n",
      'It\'s "so" - yes...\nend',
      'It\'s "so" - no...\nend',
      "It\u2019s \u201cso\u201d \u2013 no\u2026\nend\n",
    ],
    [
      "lines left out",
      "function a() {\n  one();\n  two();\n  three();\n  last();\n}\n",
      "function a() {\n  one();\n  // ... existing code ...\n  last();\n}",
      "function a() {\n  zero();\n  one();\n  // ... existing code ...\n  last();\n}",
      "function a() {\n  zero();\n  one();\n  two();\n  three();\n  last();\n}\n",
    ],
    [
      "too little indentation of a single line",
      "    return x;\n",
      "  return x;",
      "  if (x) {\n    return x;\n  }",
      "    if (x) {\n      return x;\n    }\n",
    ],
    [
      "blanks around a part of a long line",
      `${"f();".repeat(100)}let a=1,b=2;\n`,
      " b=2\n",
      " b=3\n",
      `${"f();".repeat(100)}let a=1,b=3;\n`,
    ],
    ["other quotes in a part of a line", "f('a', g(\"b\"), h);\n", "g(\u201cb\u201d)", "g(\u201cc\u201d)", "f('a', g(\"c\"), h);\n"],
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

  it("lists every line of an ambiguous match and changes nothing", () => {
    expect(replace("x\na\nx\na\n", "a", "b")).toEqual({ ok: false, problem: expect.stringContaining("2 places, lines 2, 4") });
    expect(replace("  a\nx\n    a\n", "\ta\t", "b")).toEqual({ ok: false, problem: expect.stringContaining("lines 1, 3") });
  });

  it("replaces every match with replaceAll", () => {
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
    ["says when nothing is similar", "alpha\nbeta\n", "zzzz qqqq xxxx", /nothing similar/],
    [
      "leaves line numbers out of what it looks for",
      "one thing\ntwo\n",
      "1\tone thing\n2\tthree",
      /line numbers.*nearest text is:\n1\tone thing/s,
    ],
    [
      "names what differs first",
      "alpha beta gamma\nlast line here\n",
      "alpha beta gamma\nlast line there",
      /Line 2 has "…?.*here", old_text has "…?.*there"/,
    ],
    ["does not take overlapping places for one", "}\n}\n}\n", "}\n}\n", /2 places, lines 1, 2/],
    ["does not mind line ends when it counts places", "a\nb\nx\na\r\nb\r\n", "a\nb\n", /2 places, lines 1, 4/],
    ["refuses to leave out lines that new text has", "a();\nb();\nc();\n", "a();\n...\nc();", /omits lines/],
    ["does not take a part of a line for the line", "  if (y) return x;\n", "  return x;\n", /nearest text/],
    ["does not take a part of a word for the word", `${"f();".repeat(100)}width=1;\n`, " id\n", /not in the file/],
    ["does not match words that differ", "// add one\nadd(1);\n", "// add two\nadd(1);", /not in the file/],
    ["refuses an edit that changes nothing", "a\n", "a", /identical/],
    ["does not match blank lines anywhere", "a\n\n\n\nb\n", "  \n  ", /not in the file/],
    ["does not bend indentation that is not consistent", "a\n  b\nc\n", "  a\n  b\n  c", /not in the file/],
  ])("%s", (_name, text, oldText, expected) => {
    const newText = oldText === "a" ? "a" : "NEW";
    expect(replace(text, oldText, newText)).toEqual({ ok: false, problem: expect.stringMatching(expected) });
  });

  it("reports a file that already has the new content", () => {
    expect(replace("  a\n", "a ", "a")).toMatchObject({ ok: false });
  });

  it("changes nothing outside the reported lines, for any text", () => {
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
          const result = outcome.text.split(eol);
          expect(outcome.text.match(/NEW/g)).toHaveLength(1);
          // What stands before and after it are lines of the file; between them it had the wanted ones, blank lines aside.
          const at = result.findIndex((one) => one.includes("NEW"));
          const after = result.slice(at + 1, -1);
          expect(result.slice(0, at)).toEqual(lines.slice(0, at));
          expect(after).toEqual(lines.slice(lines.length - after.length));
          const solid = (some: readonly string[]) => some.map((one) => one.trim()).filter((one) => one !== "");
          const gone = lines.slice(at, lines.length - after.length);
          if (outcome.text.includes(`${eol}NEW${eol}`) || outcome.text.startsWith(`NEW${eol}`)) expect(solid(gone)).toEqual(solid(wanted));
        },
      ),
      { numRuns: runs(500, 2000) },
    );
  });
});
