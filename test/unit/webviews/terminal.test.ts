import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findLinks, spansOf } from "../../../webviews/shared/terminal/links.ts";
import { createScreen, lineText, screenLines } from "../../../webviews/shared/terminal/screen.ts";
import { applyStyle, classesOf, nearestColor, plainStyle, type Style } from "../../../webviews/shared/terminal/style.ts";

const esc = "\u001b";

function screenOf(...writes: string[]) {
  const screen = createScreen();
  for (const text of writes) screen.write(text);
  return screen;
}

describe("what a terminal would show", () => {
  it.each([
    ["plain lines", "one\ntwo\n", "one\ntwo"],
    ["lines of Windows", "one\r\ntwo\r\n", "one\ntwo"],
    ["a progress bar by carriage return", "10 %\r20 %\r100 %\ndone", "100 %\ndone"],
    ["a shorter text over a longer one", "downloading\rok\n", "okwnloading"],
    ["erasing the rest of the line", `downloading\rok${esc}[K\n`, "ok"],
    ["erasing the line", `gone${esc}[2K\rnew`, "new"],
    ["erasing up to the cursor", `abcdef${esc}[3D${esc}[1Kx`, "   xef"],
    ["backspace", "ab\b\bxy", "xy"],
    ["tabs", "a\tb", "a       b"],
    ["two bars drawn again above", `a 1\nb 1\n${esc}[2Aa 2\nb 2\n`, "a 2\nb 2"],
    ["cursor to a column", `abc${esc}[1GX${esc}[5GY`, "Xbc Y"],
    ["next and previous line", `a\nb\nc${esc}[2FX${esc}[EY`, "X\nY\nc"],
    ["saved and restored cursor", `ab${esc}7cd${esc}8X`, "abXd"],
    ["deleting characters", `abcdef\r${esc}[2P`, "cdef"],
    ["a cleared screen keeps what was above", `first\n${esc}[2J${esc}[Hsecond`, "first\nsecond"],
    ["a screen drawn again in place", `${esc}[H1\n2${esc}[H${esc}[J3`, "3"],
    ["a title", `${esc}]0;window title\u0007text`, "text"],
    ["a link of the terminal", `${esc}]8;;https://example.org${esc}\\here${esc}]8;;${esc}\\`, "here"],
    ["the clipboard", `${esc}]52;c;cm0gLXJm\u0007safe`, "safe"],
    ["a device string", `a${esc}Pq#0;2;0;0;0${esc}\\b`, "ab"],
    ["questions of the terminal", `${esc}[6n${esc}[c${esc}[>0q${esc}Zrest`, "rest"],
    ["modes and character sets", `${esc}[?25l${esc}[?1049h${esc}(B${esc}[>4;1mtext${esc}=`, "text"],
    ["eight-bit sequences", "\u009b31mred\u009b0m\u009d0;t\u009cx", "redx"],
    ["bells and other controls", "a\u0007b\u0000c\u007fd", "abcd"],
    ["a broken sequence that has an end", `a${esc}[31`, "a"],
  ])("%s", (_, text, shown) => expect(screenOf(text).text()).toBe(shown));

  it("reads the same however the text is cut", () => {
    const pieces = fc.constantFrom(
      ...["a", "bc", "\n", "\r", "\b", "\t", `${esc}[31m`, `${esc}[1;38;5;120m`, `${esc}[0m`, `${esc}[2A`, `${esc}[K`, `${esc}]0;t\u0007`],
      ...[`${esc}[2J`, `${esc}[3;4H`, `${esc}P1$r${esc}\\`, "→", "😀", `${esc}7`, `${esc}8`, `${esc}[38;2;1;2;3m`],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), fc.array(fc.nat(200), { maxLength: 10 }), (parts, cuts) => {
        const text = parts.join("");
        const whole = screenOf(text);
        const marks = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].toSorted((a, b) => a - b);
        const split = screenOf(...marks.map((mark, index) => text.slice(marks[index - 1] ?? 0, mark)));
        expect(split.lines.map(lineText)).toEqual(whole.lines.map(lineText));
        expect(split.lines.flatMap((line) => line.map(({ style }) => classesOf(style)))).toEqual(
          whole.lines.flatMap((line) => line.map(({ style }) => classesOf(style))),
        );
      }),
    );
  });

  it("never throws, and never shows a control character, whatever comes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(`${esc}[`, `${esc}]`, "\u009b", "\u0090"))),
        (writes) => {
          // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
          expect(screenOf(...writes).text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
        },
      ),
    );
  });

  it("holds a bounded number of lines and says how many went", () => {
    const screen = createScreen();
    for (let index = 0; index < 20_000; index += 1) screen.write(`line ${index}\n`);
    expect(screen.lines.length).toBeLessThanOrEqual(screenLines);
    expect(screen.lines.length + screen.dropped).toBe(20_001);
    expect(lineText(screen.lines.at(-2) ?? [])).toBe("line 19999");
  });

  it("holds a bounded text without line ends, and a sequence without an end does not hold the rest back", () => {
    const screen = createScreen();
    for (let index = 0; index < 100; index += 1) screen.write("x".repeat(50_000));
    expect(screen.text().length).toBeLessThanOrEqual(1_000_000);
    screen.write(`\n${esc}]0;`);
    for (let index = 0; index < 100; index += 1) screen.write("t".repeat(1000));
    screen.write("\nafter");
    expect(screen.text().endsWith("after")).toBe(true);
  });

  it("a cursor sent far away makes no endless screen", () => {
    expect(screenOf(`${esc}[999999999B${esc}[999999999Cx`).lines.length).toBeLessThan(500);
  });
});

describe("colors and styles", () => {
  const style = (parameters: string, from: Style = plainStyle) => classesOf(applyStyle(from, parameters));
  it.each([
    ["31", "ansi-fg-red"],
    ["1;92", "ansi-fg-bright-green ansi-bold"],
    ["44", "ansi-bg-blue"],
    ["107", "ansi-bg-bright-white"],
    ["2;3;4;9", "ansi-dim ansi-italic ansi-understruck"],
    ["4", "ansi-under"],
    ["7", "ansi-inverse ansi-on-default"],
    ["7;31", "ansi-inverse ansi-on-red"],
    ["38;5;9", "ansi-fg-bright-red"],
    ["38;5;21", "ansi-fg-blue"],
    ["48;5;244", "ansi-bg-bright-black"],
    ["38;2;200;30;30;1", "ansi-fg-red ansi-bold"],
    ["38:2::200:30:30", "ansi-fg-red"],
    ["38:5:9;1", "ansi-fg-bright-red ansi-bold"],
    ["4:0", ""],
    ["38;5", ""],
    ["38;2;1", ""],
    ["38;5;999", ""],
    ["10;53;200", ""],
    ["", ""],
  ])("%s is %j", (parameters, classes) => expect(style(parameters)).toBe(classes));

  it("is ended one by one and all at once", () => {
    const all = applyStyle(plainStyle, "1;2;3;4;7;9;31;42");
    expect(classesOf(applyStyle(all, "22;23;24;27;29;39;49"))).toBe("");
    expect(applyStyle(all, "0")).toEqual(plainStyle);
    expect(applyStyle(all, "")).toEqual(plainStyle);
  });

  it("each of the sixteen is nearest to itself in the table of 256", () => {
    for (let index = 0; index < 16; index += 1) {
      const base = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"][index % 8];
      expect(style(`38;5;${index}`)).toBe(`ansi-fg-${index < 8 ? "" : "bright-"}${base}`);
    }
    expect(nearestColor(250, 250, 250)).toBe("bright-white");
  });

  it("runs on one line keep their own style", () => {
    const [line = []] = screenOf(`a${esc}[31mb${esc}[0mc`).lines;
    expect(line.map(({ text, style: of }) => [text, classesOf(of)])).toEqual([
      ["a", ""],
      ["b", "ansi-fg-red"],
      ["c", ""],
    ]);
  });
});

describe("links of an output", () => {
  const url = (address: string) => ({ kind: "url", url: address });
  const file = (path: string, line: number, column: number | null = null) => ({ kind: "file", path, line, column });
  it.each([
    ["open http://localhost:3000/ now", [url("http://localhost:3000/")]],
    ["(see https://example.org/a_(b)).", [url("https://example.org/a_(b)")]],
    ["https://example.org/x?y=1#z, then", [url("https://example.org/x?y=1#z")]],
    ["src/a.ts:12:5 - error TS2304", [file("src/a.ts", 12, 5)]],
    ["    at f (/work/shop/src/a.js:3:9)", [file("/work/shop/src/a.js", 3, 9)]],
    ["src/a.ts(12,5): error", [file("src/a.ts", 12, 5)]],
    ['  File "tests/test_a.py", line 7, in test', [file("tests/test_a.py", 7)]],
    ["./cmd/main.go:10: undefined", [file("./cmd/main.go", 10)]],
    ["C:\\shop\\a.cs:3:1", [file("C:\\shop\\a.cs", 3, 1)]],
    ["Makefile.am:3 and lib/Makefile:4", [file("Makefile.am", 3), file("lib/Makefile", 4)]],
    ["12:30:05 done in 3:20", []],
    ["localhost:3000 and 10.0.0.1:80", []],
    ["http://", []],
    ["javascript:alert(1) file:///etc/passwd", []],
    ["nothing here", []],
  ])("%s", (text, targets) => expect(findLinks(text).map(({ target }) => target)).toEqual(targets));

  it("goes over the colors in it, and nothing of the line is lost", () => {
    const [line = []] = screenOf(`${esc}[36msrc/a.ts${esc}[0m:${esc}[33m12${esc}[0m:5 error`).lines;
    const spans = spansOf(line);
    expect(spans.map(({ target, pieces }) => [target?.kind ?? null, pieces.map(({ text }) => text).join("")])).toEqual([
      ["file", "src/a.ts:12:5"],
      [null, " error"],
    ]);
    expect(spans[0]?.pieces).toHaveLength(4);
  });

  it("looks through the worst of lines without delay", () => {
    const worst = ["a".repeat(2000), "a/".repeat(1000), "a.".repeat(1000), "[".repeat(2000), `https://x.y/${")".repeat(1980)}`];
    for (const text of worst) expect(findLinks(text).length).toBeLessThanOrEqual(1);
  });
});
