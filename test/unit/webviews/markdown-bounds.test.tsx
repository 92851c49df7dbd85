// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { blockSource, noBlocks, splitBlocks } from "../../../webviews/shared/markdown/blocks.ts";
import { isTooComplex } from "../../../webviews/shared/markdown/bounded.ts";
import { Markdown } from "../../../webviews/shared/markdown/markdown.tsx";
import { hiddenDestination, linkTarget, markdownToHtml } from "../../../webviews/shared/markdown/sanitize.ts";
import { createFakeView, type FakeView } from "../../support/fake-view.ts";

let root: HTMLElement;
let view: FakeView;

beforeEach(() => {
  view = createFakeView();
  root = document.createElement("div");
  document.body.append(root);
});
afterEach(() => {
  render(null, root);
  root.remove();
});

function show(text: string, streaming = false): HTMLElement {
  void act(() => render(<Markdown text={text} streaming={streaming} bridge={view.bridge} />, root));
  return root;
}

function depthOf(element: Element): number {
  let deepest = 0;
  for (const child of element.children) deepest = Math.max(deepest, depthOf(child));
  return deepest + 1;
}

/** Deepest nesting of an element in HTML. */
function nesting(html: string, tag: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [found] of html.matchAll(new RegExp(`<(/?)${tag}[\\s>]`, "g"))) {
    depth += found.startsWith("</") ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

const repeat = (text: string, count: number) => text.repeat(count);
/** Name, text, and something of it that must show. A parser without bounds takes minutes for most, or overflows its stack. */
const hostile: readonly (readonly [string, string, string])[] = [
  ["nested quotes", `${repeat("> ", 2_000)}end`, "end"],
  ["nested quotes without blanks", `${repeat(">", 20_000)}end`, "end"],
  ["quotes that nest line by line", `${Array.from({ length: 300 }, (_, depth) => `${repeat(">", depth)} a`).join("\n")}\n\nend`, "end"],
  ["underscores", `${repeat("_a", 50_000)} end`, "end"],
  ["stars", `${repeat("*a ", 30_000)} end`, "end"],
  ["two kinds of emphasis", `${repeat("*a_b ", 20_000)} end`, "end"],
  ["emphasis that opens only", `${repeat("a **b ", 15_000)} end`, "end"],
  ["nested emphasis", `${repeat("*a **b ", 500)}end${repeat("** *", 500)}`, "end"],
  ["strikethrough", `${repeat("~~a ", 20_000)} end`, "end"],
  ["lists on one line", `${repeat("- ", 2_000)}end`, "end"],
  ["lists by indentation", `${Array.from({ length: 300 }, (_, depth) => `${repeat("  ", depth)}- a`).join("\n")}\n\nend`, "end"],
  ["numbered lists on one line", `${repeat("1. ", 2_000)}end`, "end"],
  ["quotes and lists in turn", `${repeat("> - ", 1_000)}end`, "end"],
  ["open brackets", `${repeat("[", 50_000)} end`, "end"],
  ["brackets around brackets", `${repeat("[", 5_000)}a${repeat("]", 5_000)} end`, "end"],
  ["open links", `${repeat("[a](", 20_000)} end`, "end"],
  ["links", `${repeat("[a](https://a.test) ", 5_000)} end`, "end"],
  ["images", `${repeat("![", 20_000)} end`, "end"],
  ["bare addresses", `${repeat("https://a.test/_ ", 5_000)} end`, "end"],
  ["mail addresses", `${repeat("a.", 20_000)}@a.test end`, "end"],
  ["code spans of growing length", `${Array.from({ length: 400 }, (_, size) => repeat("`", size)).join("a")} end`, "end"],
  ["open angle brackets", `${repeat("<a ", 20_000)} end`, "end"],
  ["HTML", `${repeat("<div><b>", 10_000)} end`, "end"],
  ["HTML comments", `${repeat("<!--", 20_000)} end`, "end"],
  ["entities", `${repeat("&amp;&#x41;", 10_000)} end`, "end"],
  ["backslashes", `${repeat("\\", 50_000)} end`, "end"],
  ["a table of many columns", `${repeat("|a", 5_000)}|\n${repeat("|-", 5_000)}|\n${repeat("|b", 5_000)}|\n\nend`, "end"],
  ["a table of many rows", `|a|b|\n|-|-|\n${repeat("|c|d|\n", 8_000)}\nend`, "end"],
  ["a huge code block", `\`\`\`js\n${repeat("const a = '*_[';\n", 6_000)}\`\`\`\n\nend`, "end"],
  ["an open code block", `\`\`\`\n${repeat("a\n", 20_000)}end`, "end"],
  ["a very long line", `${repeat("word ", 40_000)}end`, "end"],
  ["many paragraphs", `${repeat("a\n\n", 5_000)}end`, "end"],
  ["many headings", `${repeat("# a\n", 5_000)}\nend`, "end"],
  ["many rules", `${repeat("---\n", 5_000)}\nend`, "end"],
  ["many definitions", `${Array.from({ length: 3_000 }, (_, n) => `[a${n}]: https://a.test/${n}\n\n[a${n}] \n\n`).join("")}end`, "end"],
  ["blank lines", `a${repeat("\n", 50_000)}end`, "end"],
  ["tabs", `a\n\n${repeat("\t", 20_000)}end`, "end"],
];

describe("Markdown in bounded depth and time", () => {
  it.each(hostile)("parses %s, whole and streaming", (_what, text, shown) => {
    let blocks = noBlocks;
    const step = Math.ceil(text.length / 5);
    for (let end = step; end < text.length; end += step) {
      blocks = splitBlocks(text.slice(0, end), blocks);
      markdownToHtml(blockSource(blocks.sources.at(-1) ?? "", blocks.definitions, true));
    }
    const { sources, definitions } = splitBlocks(text, blocks);
    expect(sources.join("")).toBe(text);
    const html = sources
      .slice(-3)
      .map((source) => markdownToHtml(blockSource(source, definitions, false)))
      .join("");
    expect(html).toContain(shown);
    for (const tag of ["blockquote", "li", "em", "strong", "a"]) expect(nesting(html, tag), tag).toBeLessThanOrEqual(24);
  });

  it.each(hostile.filter(([what]) => /nest|underscores|open brackets|on one line|in turn/.test(what)))("draws %s", (_what, text, shown) => {
    show(text.slice(0, text.length / 2), true);
    const page = show(text);
    expect(page.textContent).toContain(shown);
    expect(depthOf(page)).toBeLessThan(120);
  });

  it("draws the rest of a text of too many blocks as it is", () => {
    const page = show(`${repeat("a\n\n", 1_200)}**end**`);
    expect(page.querySelectorAll("p").length).toBeLessThan(1_100);
    expect(page.textContent).toContain("**end**");
  });

  it("formats ordinary texts in full: nested quotes and lists, long paragraphs, tables", () => {
    const page = show(
      [
        `${repeat("> ", 10)}deep`,
        Array.from({ length: 8 }, (_, depth) => `${repeat("  ", depth)}- item`).join("\n"),
        repeat("Some **bold** words with `code`, [a link](https://a.test) and _more_. ", 30),
        `| a | b |\n|---|---|\n${repeat("| `c` | *d* |\n", 200)}`,
      ].join("\n\n"),
    );
    expect(page.querySelectorAll("blockquote")).toHaveLength(10);
    expect(page.querySelectorAll("ul")).toHaveLength(8);
    expect(page.querySelectorAll("strong")).toHaveLength(30);
    expect(page.querySelectorAll("td")).toHaveLength(400);
  });

  it("judges the work by length and special characters", () => {
    expect(isTooComplex(repeat("plain words ", 20_000))).toBe(false);
    expect(isTooComplex(repeat("*a ", 500))).toBe(false);
    expect(isTooComplex(repeat("_a", 50_000))).toBe(true);
    expect(blockSource(`${repeat("_a", 50_000)}**b`, "", true).endsWith("**b")).toBe(true);
  });
});

describe("a link whose text shows another address", () => {
  it.each([
    ["https://ok.test", "https://evil.test/", "evil.test"],
    ["ok.test", "https://evil.test/", "evil.test"],
    ["www.ok.test", "https://evil.test/", "evil.test"],
    ["OK.TEST/login", "https://evil.test/", "evil.test"],
    ["Sign in at https://ok.test now", "https://evil.test/", "evil.test"],
    ["https://ok.test", "https://ok.test.evil.test/", "ok.test.evil.test"],
    ["https://ok.test", "https://ok.test@evil.test/", "evil.test"],
    [`https://${"a.".repeat(60)}ok.test`, "https://evil.test/", "evil.test"],
    ["click", "https://ok.test:pw@evil.test/", "evil.test"],
    ["https://o\u200bk.test", "https://evil.test/", "evil.test"],
    ["ｏｋ.test", "https://evil.test/", "evil.test"],
    ["http://ok.test:8080/x", "https://evil.test/", "evil.test"],
    ["аpple.com", "https://аpple.com/", "xn--pple-43d.com"],
    ["https://ok.test", "src/evil.sh", "src/evil.sh"],
    ["www.ok.test", "src/a.ts", "src/a.ts"],
    ["https://ok.test/a", "https://ok.test/b", null],
    ["ok.test", "https://www.ok.test/", null],
    ["the docs", "https://evil.test/", null],
    ["README.md", "https://host.test/x/README.md", null],
    ["README.md", "docs/README.md", null],
    ["install.sh", "https://evil.test/other", "evil.test"],
    ["version 1.2.3", "https://ok.test/", null],
    ["see a.b for more", "https://ok.test/", null],
    ["e.g. this", "https://ok.test/", null],
  ])("%j to %s", (text, href, marked) => {
    const target = linkTarget(href);
    expect(target).not.toBeNull();
    expect(target === null ? undefined : hiddenDestination(text, target)).toBe(marked);
  });

  it("names the destination beside it", () => {
    expect(show("[https://ok.test](https://evil.test/x)").querySelector(".link-destination")?.textContent).toContain("evil.test");
    expect(show("[docs](https://evil.test/x)").querySelector(".link-destination")).toBeNull();
    expect(show("https://ok.test/x and <https://ok.test/y>").querySelector(".link-destination")).toBeNull();
  });
});
