// @vitest-environment jsdom
import * as fc from "fast-check";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { blockSource, noBlocks, splitBlocks } from "../../../webviews/shared/markdown/blocks.ts";
import { Markdown } from "../../../webviews/shared/markdown/markdown.tsx";
import { linkTarget, markdownToTree } from "../../../webviews/shared/markdown/sanitize.ts";
import { createFakeView, type FakeView } from "../../support/fake-view.ts";
import { answerText } from "../../support/webview-harness/samples.ts";
import { runs } from "../../support/soak.ts";

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

/** Does something and draws what came of it. */
function update(work: () => void): void {
  void act(work);
}

function show(text: string, streaming = false): HTMLElement {
  update(() => render(<Markdown text={text} streaming={streaming} bridge={view.bridge} />, root));
  return root;
}

const dangerous: readonly [string, string][] = [
  ["remote image", "![x](https://evil.test/p.png?secret)"],
  ["image by reference", "![x][p]\n\n[p]: https://evil.test/p.png"],
  ["data image", "![x](data:image/png;base64,AAAA)"],
  ["image inside a link", "[![x](https://evil.test/p.png)](https://evil.test)"],
  ["raw img", '<img src="https://evil.test/p.png">'],
  ["img with handler", "<img src=x onerror=alert(1)>"],
  ["img in a table", "| a |\n|---|\n| <img src=https://evil.test/p.png> |"],
  ["img in a list", "- <img src=https://evil.test/p.png>"],
  ["img in a quote", "> <img src=https://evil.test/p.png>"],
  ["img half streamed", "text <img src=https://evil.test/p.png"],
  ["script", "<script>alert(1)</script>"],
  ["script upper case", "<SCRIPT SRC=//evil.test/x.js></SCRIPT>"],
  ["iframe", '<iframe src="https://evil.test"></iframe>'],
  ["iframe srcdoc", '<iframe srcdoc="<script>alert(1)</script>"></iframe>'],
  ["object", '<object data="https://evil.test/x"></object>'],
  ["embed", '<embed src="https://evil.test/x">'],
  ["form", '<form action="https://evil.test"><input name=a><button>go</button></form>'],
  ["style element", "<style>body{background:url(https://evil.test/p)}</style>"],
  ["style attribute", '<p style="background:url(https://evil.test/p)">x</p>'],
  ["link element", '<link rel=stylesheet href="https://evil.test/x.css">'],
  ["meta refresh", '<meta http-equiv=refresh content="0;url=https://evil.test">'],
  ["base", '<base href="https://evil.test/">'],
  ["svg with handler", "<svg onload=alert(1)></svg>"],
  ["svg image", '<svg><image href="https://evil.test/p.png"/></svg>'],
  ["svg script", "<svg><script>alert(1)</script></svg>"],
  ["math", '<math><mtext><img src=x onerror="alert(1)"></mtext></math>'],
  ["video", '<video src="https://evil.test/v" poster="https://evil.test/p"></video>'],
  ["audio", '<audio src="https://evil.test/a" autoplay></audio>'],
  ["details handler", "<details open ontoggle=alert(1)>x</details>"],
  ["template", "<template><img src=x onerror=alert(1)></template>"],
  ["noscript mutation", '<noscript><p title="</noscript><img src=x onerror=alert(1)>">'],
  ["comment mutation", "<!--><img src=x onerror=alert(1)>-->"],
  ["javascript link", "[x](javascript:alert(1))"],
  ["javascript link, mixed case", "[x](JaVaScRiPt:alert(1))"],
  ["javascript link with entity", "[x](javascript&#58;alert(1))"],
  ["javascript link with tab", "[x](java\tscript:alert(1))"],
  ["javascript autolink", "<javascript:alert(1)>"],
  ["vbscript link", "[x](vbscript:msgbox(1))"],
  ["data link", "[x](data:text/html,<script>alert(1)</script>)"],
  ["file link", "[x](file:///etc/passwd)"],
  ["command link", "[x](command:workbench.action.terminal.new)"],
  ["vscode link", "[x](vscode://evil.ext/run)"],
  ["protocol-relative link", "[x](//evil.test)"],
  ["http link", "[x](http://evil.test)"],
  ["raw link", '<a href="javascript:alert(1)">x</a>'],
  ["link title breaks out", '[x](https://ok.test "\\" onmouseover=alert(1) x=\\"")'],
  ["code language breaks out", '```"><img src=x onerror=alert(1)>\ncode\n```'],
  ["heading with raw", "# <img src=x onerror=alert(1)>"],
];

describe("Markdown that escapes its fence", () => {
  it.each(dangerous)("%s is harmless, streaming or whole", (_, source) => {
    for (const streaming of [false, true]) {
      const page = show(source, streaming);
      const harmful = "img, image, script, iframe, object, embed, form, style, link, meta, base, svg, math, video, audio, template, input";
      expect(page.querySelector(harmful)).toBeNull();
      for (const element of page.querySelectorAll("*")) {
        for (const { name, value } of element.attributes) {
          expect(name, element.outerHTML).not.toMatch(/^on|^style$|^src/);
          if (name === "href") expect(value).toMatch(/^(https:\/\/|#$)/);
        }
      }
    }
  });

  it.each(dangerous)("%s does not pass the first wall either", (_, source) => {
    const tree = markdownToTree(source);
    expect(
      tree.querySelector("img, script, iframe, object, embed, form, style, svg, math, video, audio, template, link, meta, base"),
    ).toBeNull();
    for (const element of tree.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|^style$|^src/);
        expect(value).not.toMatch(/^\s*(javascript|vbscript|data):/i);
      }
    }
  });

  it("shows raw HTML as the text it is", () => {
    expect(show("a <b>bold</b> claim").textContent?.trim()).toBe("a <b>bold</b> claim");
  });

  it("names a picture instead of fetching it", () => {
    const link = show("![a chart](https://pics.test/c.png)").querySelector("a");
    expect(link?.textContent).toContain("a chart");
    expect(link?.getAttribute("href")).toBe("https://pics.test/c.png");
  });
});

describe("linkTarget", () => {
  it.each([
    ["https://example.test/a?b#c", { kind: "web", url: "https://example.test/a?b#c" }],
    ["src/a.ts", { kind: "file", path: "src/a.ts" }],
    ["./src/a.ts", { kind: "file", path: "src/a.ts" }],
    ["src/a.ts:12", { kind: "file", path: "src/a.ts", line: 12 }],
    ["src/a.ts:12:4", { kind: "file", path: "src/a.ts", line: 12 }],
    ["src/a.ts#L7-L9", { kind: "file", path: "src/a.ts", line: 7 }],
    ["src/with%20space.ts", { kind: "file", path: "src/with space.ts" }],
    ["README", { kind: "file", path: "README" }],
    ["https://", null],
    ["http://example.test", null],
    ["mailto:a@b.test", null],
    ["javascript:alert(1)", null],
    ["java\nscript:alert(1)", null],
    ["%6Aavascript:alert(1)", null],
    ["//evil.test", null],
    ["/etc/passwd", null],
    ["../outside.ts", null],
    ["src/../../outside.ts", null],
    ["src/%2e%2e/%2e%2e/outside.ts", null],
    ["C:\\Windows", null],
    ["C:/Windows", null],
    ["\\\\server\\share", null],
    ["~/.ssh/id_rsa", null],
    ["#heading", null],
    ["a%00b", null],
    ["%E0%A4%A", null],
    ["", null],
  ])("%j", (href, target) => {
    expect(linkTarget(href)).toEqual(target);
  });
});

describe("Markdown", () => {
  it("opens web links outside and files in the editor", () => {
    const links = show("[a](https://ok.test/x) and [b](src/b.ts:3)").querySelectorAll("a");
    for (const link of links) update(() => link.click());
    expect(view.posted).toEqual([
      { type: "ui", ui: { action: "openExternal", url: "https://ok.test/x" } },
      { type: "ui", ui: { action: "openFile", path: "src/b.ts", line: 3 } },
    ]);
  });

  it("copies and inserts code exactly as it is, in lists too", () => {
    const page = show("1. do\n\n   ```ts\n   a < b && `c`\n   \n     d\n   ```\n");
    const [copy, insert] = page.querySelectorAll<HTMLButtonElement>(".code-heading button");
    update(() => copy?.click());
    update(() => insert?.click());
    const text = "a < b && `c`\n\n  d";
    expect(view.posted).toEqual([
      { type: "ui", ui: { action: "copy", text } },
      { type: "ui", ui: { action: "insertAtCursor", text } },
    ]);
  });

  it("keeps the elements of finished blocks while text streams", () => {
    const page = show("First paragraph.\n\nSecond **bo", true);
    const first = page.querySelector("p");
    show("First paragraph.\n\nSecond **bold** and more", true);
    expect(page.querySelector("p")).toBe(first);
    expect(page.querySelector("strong")?.textContent).toBe("bold");
  });

  it("closes what is still open while it streams, and only then", () => {
    expect(show("now **bo", true).querySelector("strong")?.textContent).toBe("bo");
    expect(show("now **bo", false).querySelector("strong")).toBeNull();
  });

  it("follows links by reference that are defined in a later block", () => {
    expect(show("see [it][x]\n\ntext\n\n[x]: https://ok.test/y").querySelector("a")?.getAttribute("href")).toBe("https://ok.test/y");
  });
});

describe("splitBlocks", () => {
  const piece = fc.constantFrom(
    ..."- item\n|1. one\n|  more\n|\n|\n\n|text |**bold|** |`code`|```ts\n|const a = 1;\n|```\n|> quote\n|# head\n|===\n|---\n|\r\n|[a]: https://b.test\n|[a]".split(
      "|",
    ),
    "| a | b |\n",
    "|---|---|\n",
    "| 1 | 2 |\n",
    "<div>\n",
    "</div>\n",
    "\t",
  );

  it("gives the whole text back, block by block", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const text = pieces.join("");
        expect(splitBlocks(text).sources.join("")).toBe(text.replaceAll(/\r\n?/g, "\n"));
      }),
    );
  });

  it("shows a streamed text in the end as if it had come at once", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        let blocks = noBlocks;
        let text = "";
        for (const next of pieces) {
          text += next;
          blocks = splitBlocks(text, blocks);
        }
        expect(blocks.sources.filter((source) => source.trim() !== "")).toEqual(
          splitBlocks(text).sources.filter((source) => source.trim() !== ""),
        );
      }),
      { numRuns: runs(250, 1000) },
    );
  });

  it("reads only the end of a text that grows", () => {
    const before = splitBlocks(answerText);
    const after = splitBlocks(`${answerText}\n\nand more`, before);
    expect(after.sources.length).toBeGreaterThan(before.sources.length);
    expect(after.sources.slice(0, 5).every((source, index) => source === before.sources[index])).toBe(true);
  });

  it("leaves a block without brackets as it is", () => {
    expect(blockSource("plain", "[a]: https://b.test", false)).toBe("plain");
  });
});
