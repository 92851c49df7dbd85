import * as fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FunctionComponent } from "preact";
import { complete, droppedPaths, insertMentions, mentioned, triggerAt } from "../../../../webviews/chat/mentions.ts";
import { blockSource, noBlocks, splitBlocks } from "../../../../webviews/shared/markdown/blocks.ts";

import { findLinks, spansOf } from "../../../../webviews/shared/terminal/links.ts";
import { createScreen } from "../../../../webviews/shared/terminal/screen.ts";
import { openPage } from "../page.ts";
import type { Target } from "../target.ts";

const root = join(import.meta.dirname, "../../../..");
const text = (path: string): string => readFileSync(join(root, path), "utf8");

const markdown = [
  text("README.md").slice(0, 5_000),
  '# A\n\n* one\n  1. two\n     > three\n\n| a | b |\n|---|:-:|\n| `x` | **y** |\n\n```ts\nconst a = 1;\n```\n\n[l](https://a.example "t") ![i](x.png) <https://b.example> [r][1]\n\n[1]: https://c.example\n',
  "a_b_c __d__ *e* ~~f~~ \\* &amp; &#x41; <b>raw</b>\n\n---\n\nterm  \nline\n- [ ] open\n- [x] done\n",
];
const marks = [
  "*",
  "**",
  "_",
  "__",
  "`",
  "```",
  "~~~",
  "> ",
  "- ",
  "1. ",
  "# ",
  "|",
  "---",
  "[",
  "](",
  ")",
  "![",
  "<",
  ">",
  "<!--",
  "-->",
  "[^1]",
  "\n\n",
  "    ",
  "\\",
  "&",
  "[x]: ",
  "===",
];
const document = fc
  .array(fc.oneof(fc.constantFrom(...marks, "a", "b c", "\n"), fc.string({ maxLength: 5 })), { maxLength: 120 })
  .map((all) => all.join(""));

const printed = [
  "\x1b[1;32mok\x1b[0m src/a.ts:12:3 error\r\n",
  "10%\r20%\x1b[K\n\x1b[2Ax\x1b[0J",
  "see https://a.example/x?y=1). at f (/w/src/b.js:1:2)\n",
  "\x9b31m\x1b]8;;x\x07\x1b(0\b\b",
];
const sequences = [
  "\x1b[",
  "\x9b",
  "\x1b]",
  "\x07",
  "\x1b\\",
  ";",
  "m",
  "A",
  "B",
  "C",
  "D",
  "G",
  "H",
  "J",
  "K",
  "999999999",
  "\r",
  "\b",
  "\n",
  "38;2;1;2;3",
  "https://",
  ":1:1",
];
const ansi = fc
  .array(fc.oneof(fc.constantFrom(...sequences, "text", "日本"), fc.string({ maxLength: 6 })), { maxLength: 100 })
  .map((all) => all.join(""));

interface MarkdownModule {
  readonly Markdown: FunctionComponent<{ text: string; streaming: boolean; bridge: unknown }>;
}

export const viewTargets: readonly Target[] = [
  {
    name: "Markdown, shown in a page",
    samples: markdown,
    grammar: document,
    words: marks,
    // The page of the tests is many times slower than a browser's.
    longest: 10_000,
    open: async () => {
      const page = await openPage();
      const { Markdown } = (await import("../../../../webviews/shared/markdown/markdown.tsx")) as MarkdownModule;
      return (input) => {
        page.show(Markdown, { text: input, streaming: input.length % 2 === 0, bridge: {} });
      };
    },
  },
  {
    name: "Markdown, parts of an answer that grows",
    samples: markdown,
    grammar: document,
    words: marks,
    open: () => (input) => {
      let blocks = noBlocks;
      const step = Math.max(1, Math.ceil(input.length / 10));
      for (let end = step; end < input.length + step; end += step) blocks = splitBlocks(input.slice(0, end), blocks);
      return blocks.sources.map((source) => blockSource(source, blocks.definitions, true));
    },
  },
  {
    name: "links of Markdown",
    samples: ["https://a.example/x", "src/a.ts:12", "file:///x#L3", "a%20b.md#L1-L2", "javascript:alert(1)", "//x", "mailto:a@b"],
    words: [":", "//", "#L", "%", "..", "\\", "@", "?"],
    open: async () => {
      await openPage();
      const { linkTarget } = await import("../../../../webviews/shared/markdown/sanitize.ts");
      return (input) => linkTarget(input);
    },
  },
  {
    name: "terminal of the chat",
    samples: printed,
    grammar: ansi,
    words: sequences,
    open: () => (input) => {
      const screen = createScreen();
      const step = Math.max(1, Math.ceil(input.length / 100));
      for (let from = 0; from < input.length; from += step) screen.write(input.slice(from, from + step));
      return [screen.text(), screen.lines.slice(0, 200).map(spansOf)];
    },
  },
  {
    name: "links of the terminal",
    samples: printed,
    words: ["https://", "/", ".ts", ":1", ":1:2", "(", ")", "'", '"', "\\", "~", "file://"],
    longest: 20_000,
    open: () => (input) => findLinks(input),
  },
  {
    name: "mentions in the composer",
    samples: ['look at @src/a.ts and @"b c.ts" please', "/fix @", "a@b.example @\u00e9"],
    words: ["@", '@"', '"', " ", "/", "\n", "("],
    open: () => (input) => {
      const caret = Math.floor(input.length / 2);
      const trigger = triggerAt(input, caret);
      const edit = trigger === null ? null : complete(input, trigger.start, caret, "@x ");
      return [edit, insertMentions(input, caret, ["a b", "c"]), mentioned(input, ["a b", "c"]), droppedPaths(input, "w")];
    },
  },
];
