import * as fc from "fast-check";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { safeForTerminal, canBeTyped } from "../../../../extension/editor/terminal-text.ts";
import { candidatePaths } from "../../../../extension/editor/output-path.ts";
import { textBefore } from "../../../../extension/review/text-before.ts";
import { countDiff } from "../../../../extension/review/hunks.ts";
import { plainTerminalText } from "../../../../agent-server/tools/command/terminal-text.ts";
import { createHeadAndTail } from "../../../../agent-server/tools/command/head-and-tail.ts";
import { visibleProse, visibleText } from "../../../../agent-server/contract/visible-text.ts";
import { oneLine } from "../../../../agent-server/tools/command/command-question.ts";
import { parseCommand } from "../../../../agent-server/tools/repl/repl.ts";
import { wildcard } from "../../../../agent-server/security/wildcard.ts";
import { createOutliner } from "../../../../agent-server/workspace/outline/outline.ts";
import { decodeText, encodeText } from "../../../../agent-server/workspace/text/encoding.ts";
import { globFilter } from "../../../../agent-server/workspace/text/glob.ts";
import { computeHunks, unifiedDiff } from "../../../../agent-server/workspace/text/hunks.ts";
import { showWindow, textWindow } from "../../../../agent-server/workspace/text/line-window.ts";
import { replaceText } from "../../../../agent-server/workspace/text/match.ts";
import { boundText } from "../../../../agent-server/workspace/text/output-bounds.ts";
import { applyFilePatch, parseFilePatches } from "../../../../agent-server/workspace/text/patch.ts";
import { mergeTexts } from "../../../../agent-server/workspace/text/three-way-merge.ts";
import { asBytes, bytesOf, type Target } from "../target.ts";

const root = join(import.meta.dirname, "../../../..");
const text = (path: string): string => readFileSync(join(root, path), "utf8");
const source = text("agent-server/workspace/text/patch.ts");
const changed = source.replace("const bare", "const barren").replaceAll("  at = ", "    at = ");

/** Splits an input into parts at a mark that mutations move about. */
const mark = "\u0001";
const three = (input: string): [string, string, string] => {
  const [one = "", two = "", ...rest] = input.split(mark);
  return [one, two, rest.join(mark)];
};
const lines = fc
  .array(fc.constantFrom("a", "b", "  a", "\ta", "", "a ", "“a”", "a\r", "}", "{ b"), { maxLength: 60 })
  .map((all) => all.join("\n"));

const patches = [
  unifiedDiff("src/patch.ts", source, changed),
  unifiedDiff("a b.txt", null, "new\n"),
  unifiedDiff("gone.txt", "old\n", null),
  "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1..2 100644\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n\\ No newline at end of file\n",
  'diff --git "a/\\303\\244" "b/\\303\\244"\nnew file mode 100755\n--- /dev/null\n+++ "b/\\303\\244"\n@@ -0,0 +1 @@\n+x\n',
];
const patchWords = [
  "@@ -1,1 +1,1 @@\n",
  "--- a/x\n",
  "+++ b/x\n",
  "diff --git a/x b/x\n",
  "\\ No newline at end of file\n",
  "rename from ",
  "+",
  "-",
  " ",
  "@@@",
];
const hunk = fc
  .tuple(
    fc.integer({ min: -1, max: 400 }),
    fc.integer({ min: 0, max: 9 }),
    fc.array(fc.constantFrom(" a", "-b", "+c", "", "@@", "\\ No newline"), { maxLength: 20 }),
  )
  .map(([start, count, body]) => `@@ -${start},${count} +${start},${count} @@\n${body.join("\n")}\n`);
const patch = fc
  .array(fc.tuple(fc.constantFrom("a/x", "/dev/null", "b/../y", '"a\\n"', "x\t2020"), fc.array(hunk, { maxLength: 4 })), { maxLength: 4 })
  .map((files) => files.map(([name, hunks]) => `--- ${name}\n+++ ${name}\n${hunks.join("")}`).join(""));

const printed = [
  "\x1b[1;32mok\x1b[0m 12 passed\r\n\x1b]8;;https://a.example\x07link\x1b]8;;\x07\r\n",
  "10%\r20%\r\x1b[K100%\n\x1b[2A\x1b[0J\x1b[?25l\x1b7\x1b8\b\b\bx\n",
  "\x9b31mred\x9b0m \x1bP1$r\x1b\\ \x1b[38;2;1;2;3mx\x1b[m \u202eabc\u202c\n",
  text("media/sample/package.json"),
];
const sequences = [
  "\x1b[",
  "\x1b]",
  "\x1bP",
  "\x9b",
  "\x07",
  "\x1b\\",
  "\r",
  "\b",
  ";",
  "m",
  "K",
  "J",
  "H",
  "\x1b[999999999C",
  "\x1b[999999999B",
  "\x1b(0",
  "?1049h",
  "38;5;",
  "8;;",
];
const ansi = fc
  .array(fc.oneof(fc.constantFrom(...sequences, "text", "\n", "1", "日本"), fc.string({ maxLength: 6 })), { maxLength: 80 })
  .map((all) => all.join(""));

const outlines = readdirSync(join(root, "test/fixtures/outlines")).filter((name) => name !== "expected.txt");
const endings = [...outlines.map((name) => name.replace(".txt", "")), "a.md", "a.json", "a.yaml"];

export const textTargets: readonly Target[] = [
  {
    name: "patches",
    samples: patches,
    grammar: patch,
    words: patchWords,
    // What is not a patch is told to the model.
    throws: ["Error"],
    open: () => (input) => parseFilePatches(input).map(({ hunks }) => [applyFilePatch(source, hunks), applyFilePatch("a\nb\nc\n", hunks)]),
  },
  {
    name: "edits by text",
    samples: [
      [source, "const bare = lines.map(bareLine);", "x"],
      [source, changed.slice(200, 900), "y\n"],
      ["a\n\tb\n", "a\nb", "c"],
    ].map((parts) => parts.join(mark)),
    grammar: fc.tuple(lines, lines, lines).map((parts) => parts.join(mark)),
    words: [mark, "\n", "  ", "\t", "…", "// ... existing code ...", "12\t", "“", "—"],
    longest: 60_000,
    open: () => (input) => {
      const [file, oldText, newText] = three(input);
      return [replaceText(file, { oldText, newText, replaceAll: false }), replaceText(file, { oldText, newText, replaceAll: true })];
    },
  },
  {
    name: "merges and hunks",
    samples: [
      [source, changed, `${source}\n// end\n`],
      ["a\nb\n", "a\n", ""],
    ].map((parts) => parts.join(mark)),
    grammar: fc.tuple(lines, lines, lines).map((parts) => parts.join(mark)),
    words: [mark, "\n", "\r\n"],
    longest: 60_000,
    open: () => (input) => {
      const [base, ours, theirs] = three(input);
      const diff = unifiedDiff("a", base, ours);
      return [mergeTexts(base, ours, theirs), computeHunks(base, ours), textBefore(ours, diff), countDiff(diff)];
    },
  },
  {
    name: "encodings",
    samples: [
      asBytes("plain ä\n"),
      "\ufeff".concat("x"),
      "\xff\xfea\0b\0",
      "\xfe\xff\0a\0b",
      "caf\xe9\r\n",
      "\xef\xbb\xbfx",
      "\x93quote\x94",
    ],
    open: () => (input) => {
      const decoded = decodeText(bytesOf(input));
      return decoded === null ? null : [encodeText(decoded.text, decoded.encoding), showWindow(textWindow(decoded.text, 1, 50), "a")];
    },
  },
  {
    name: "terminal output",
    samples: printed,
    grammar: ansi,
    words: sequences,
    open: () => (input) => {
      const kept = createHeadAndTail(2_000, 2_000);
      kept.add(input);
      return [plainTerminalText(input), boundText(input, ""), kept.text(() => "…")];
    },
  },
  {
    name: "text typed into or shown by a terminal",
    samples: [...printed, "npm test -- --run", "rm -rf 'a b'\nls"],
    grammar: ansi,
    words: sequences,
    open: () => (input) => [
      safeForTerminal(input),
      canBeTyped(input),
      visibleText(input),
      visibleProse(input),
      oneLine(input),
      candidatePaths(input, "/w", "/w"),
    ],
  },
  {
    name: "files of the read-only shell",
    samples: ["ls -la src", "grep -n 'a b' \"c d\" e\\ f", "find . -name '*.ts' -maxdepth 2", "cat a | head", "cp a b"],
    words: ["'", '"', "\\", " -", "--", "*", "|", ">", "$("],
    open: () => (input) => parseCommand(input),
  },
  {
    name: "globs and wildcards",
    samples: ["**/*.ts", "src/{a,b}/*.[jt]s", "!(*.md)", "[!a-z]?*", "a/**/b", "+(a|b)*(c)", "{1..100}", "\\*"],
    words: ["*", "**", "{", "}", ",", "..", "[", "]", "!", "+(", "@(", "|", ")", "?"],
    longest: 2_000,
    open: () => (input) => {
      const path = "src/some/rather/long/path/with/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/file.name.test.ts";
      return [input.length > 500 || globFilter(input)(path), wildcard(input, { ignoreCase: true })(path)];
    },
  },
  {
    name: "outlines",
    samples: outlines
      .map((name) => text(`test/fixtures/outlines/${name}`))
      .concat(text("README.md"), text("media/sample/package.json"), text("config/tools.yaml")),
    words: ["{", "}", "class ", "def ", "fn ", "func ", "# ", "=====\n", "/*", "*/", '"""', "<", ">", "`", "  "],
    open: () => {
      const outliner = createOutliner({ distDir: null, askEditor: null });
      return (input) => outliner.outline(endings[input.length % endings.length] ?? "a.ts", input);
    },
  },
];
