import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Change } from "../../../agent-server/contract/changes.ts";
import { shortenMiddle, visibleJson } from "../../../agent-server/contract/visible-text.ts";
import { createOutput, paint, promptText } from "../../../agent-server/terminal/output.ts";
import { changeText } from "../../../agent-server/terminal/render.ts";

function captured(colors = false) {
  let text = "";
  const output = createOutput(
    (piece) => {
      text += piece;
    },
    () => colors,
  );
  return { output, text: () => text };
}

/** Anything that steers a terminal or hides text. */
const steering = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

const hostile: readonly (readonly [string, string, string])[] = [
  ["an escape", "a\u001bcb", "a⟨U+001B⟩cb"],
  ["CSI: clears the screen", "a\u001b[2Jb", "a⟨U+001B⟩[2Jb"],
  ["CSI in C1", "a\u009b2Jb", "a⟨U+009B⟩2Jb"],
  [
    "OSC 8: a link to another place",
    "\u001b]8;;https://evil.test\u0007ok.test\u001b]8;;\u0007",
    "⟨U+001B⟩]8;;https://evil.test⟨U+0007⟩ok.test⟨U+001B⟩]8;;⟨U+0007⟩",
  ],
  ["OSC 52: the clipboard", "\u001b]52;c;cm0gLXJm\u001b\\", "⟨U+001B⟩]52;c;cm0gLXJm⟨U+001B⟩\\"],
  ["OSC in C1", "\u009d0;title\u009c", "⟨U+009D⟩0;title⟨U+009C⟩"],
  ["DCS", "\u001bPq\u001b\\", "⟨U+001B⟩Pq⟨U+001B⟩\\"],
  ["conceal", "\u001b[8mrm -rf ~\u001b[0m", "⟨U+001B⟩[8mrm -rf ~⟨U+001B⟩[0m"],
  ["color of the background", "\u001b[30;40mhidden\u001b[m", "⟨U+001B⟩[30;40mhidden⟨U+001B⟩[m"],
  ["a carriage return", "rm -rf ~\rls      ", "rm -rf ~⟨U+000D⟩ls      "],
  ["backspaces", "rm\b\bls", "rm⟨U+0008⟩⟨U+0008⟩ls"],
  ["delete", "a\u007fb", "a⟨U+007F⟩b"],
  ["form feed and vertical tab", "a\fb\vc", "a⟨U+000C⟩b⟨U+000B⟩c"],
  ["NUL and bell", "a\u0000b\u0007", "a⟨U+0000⟩b⟨U+0007⟩"],
  ["next line of C1", "a\u0085b", "a⟨U+0085⟩b"],
  ["right-to-left override", "txt.\u202egnp", "txt.⟨U+202E⟩gnp"],
  ["isolates", "\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"],
  ["zero width", "a\u200bb\u2060c\ufeff", "a⟨U+200B⟩b⟨U+2060⟩c⟨U+FEFF⟩"],
  ["tags", "a\u{e0041}", "a⟨U+E0041⟩"],
  ["line and paragraph separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"],
  ["blank letters", "a\u2800\u3164b", "a⟨U+2800⟩⟨U+3164⟩b"],
  ["half a pair", "a\ud800b", "a⟨U+D800⟩b"],
  ["stacked marks", `a${"\u0301".repeat(8)}`, `a${"\u0301".repeat(6)}⟨U+0301⟩⟨U+0301⟩`],
];

describe("the writer of the terminal", () => {
  it.each(hostile)("shows %s", (_what, text, shown) => {
    const { output, text: written } = captured();
    output.write(text);
    expect(written()).toBe(shown);
  });

  it.each(hostile)("shows %s in a diff under review: path, kept, added and removed lines", (_what, text, shown) => {
    const hunk = {
      index: 0,
      state: "pending",
      oldStart: 1,
      oldLines: 1,
      newStart: 1,
      newLines: 1,
      lines: [` ${text}`, `-${text}`, `+${text}`],
    };
    const change = { kind: "modify", path: text, hunks: [hunk] } as unknown as Change;
    const { output, text: written } = captured();
    output.line(...changeText(change));
    expect(written().split(shown)).toHaveLength(5);
    expect(written()).not.toMatch(steering);
  });

  it.each(hostile)("shows %s in a prompt", (_what, text) => {
    expect(promptText(`Write ${text}? `)).not.toMatch(steering);
    expect(promptText(`Write ${text}? `)).not.toContain("\n");
  });

  it.each(hostile)("keeps the value of %s in JSON", (_what, text) => {
    const json = visibleJson(JSON.stringify({ text }));
    expect(json).not.toMatch(steering);
    expect(JSON.parse(json)).toEqual({ text });
  });

  it("never writes a character that steers the terminal, whatever comes in whatever pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ text: fc.string({ unit: "binary" }), prose: fc.boolean() }), { maxLength: 8 }), (pieces) => {
        const { output, text } = captured();
        for (const piece of pieces) output.write(piece);
        output.json(pieces);
        expect(text().replaceAll(/\u200d|\ufe0f/g, "")).not.toMatch(steering);
      }),
    );
  });

  it("shows ordinary text of every language unchanged", () => {
    const { output, text } = captured();
    const ordinary = "Grüße, naïve café\n\tif (a < b) { return 'ок'; }\n日本語 ไทย עברית العربية हिन्दी 한국어 ✓ → 😀 №5 50 %\n";
    output.write(ordinary);
    expect(text()).toBe(ordinary);
  });

  it("keeps emoji and typographic spaces of an answer, and nothing else that is invisible", () => {
    const { output, text } = captured();
    output.write({ prose: true, text: "⚠️ 👩‍💻 fini\u00a0! a\u200db c\ufe0f\r\n" });
    expect(text()).toBe("⚠️ 👩‍💻 fini ! a⟨U+200D⟩b c⟨U+FE0F⟩\n");
  });

  it("writes its own styles only", () => {
    const { output, text } = captured(true);
    output.write(paint("red", "a\u001b[32mb"));
    expect(text()).toBe("\u001b[31ma⟨U+001B⟩[32mb\u001b[39m");
  });

  it.each([
    ["empty lines", "\n".repeat(200)],
    ["lines of blanks", " \t\n".repeat(200)],
    ["blanks", " ".repeat(5_000)],
    ["tabs", "\t".repeat(5_000)],
    ["blanks after empty lines", "\n".repeat(200) + " ".repeat(5_000)],
  ])("shows how much padding there is: %s", (_what, padding) => {
    for (const size of [1, 7, 10_000]) {
      const { output, text } = captured();
      const whole = `ls${padding}rm`;
      for (let at = 0; at < whole.length; at += size) output.write(whole.slice(at, at + size));
      expect(text().length).toBeLessThan(200);
      expect(text()).toMatch(/^ls\s*⟨\d+ more (?:empty lines|blanks)⟩\s*rm$/);
    }
  });

  it("is the only place of the terminal that has the process's streams", () => {
    const folder = join(import.meta.dirname, "../../../agent-server/terminal");
    const writing = globSync(join(folder, "**/*.ts")).filter((file) =>
      /process\.(?:stdout|stderr)|console\.|node:readline"(?!.*type)/.test(readFileSync(file, "utf8")),
    );
    expect(writing.map((file) => basename(file)).filter((name) => name !== "keys.ts" && name !== "prompts.ts")).toEqual(["output.ts"]);
  });
});

describe("a long text of an approval", () => {
  const describeHidden = (lines: number, characters: number) => `⟨${lines} ${characters}⟩`;
  it.each([
    ["many lines", Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n")],
    ["one line", `start ${"x".repeat(50_000)} end`],
    ["few long lines", Array.from({ length: 12 }, () => "y".repeat(3_000)).join("\n")],
  ])("shows its start, its end and how much is hidden: %s", (_what, text) => {
    const shown = shortenMiddle(text, describeHidden);
    const hidden = /\n⟨(\d+) (\d+)⟩\n/.exec(shown);
    expect(shown.length).toBeLessThan(5_000);
    const [head = "", tail = ""] = shown.split(hidden?.[0] ?? "none");
    expect(text.startsWith(head)).toBe(true);
    expect(text.endsWith(tail)).toBe(true);
    expect(Number(hidden?.[2])).toBe(text.length - head.length - tail.length);
  });

  it("leaves a short one whole", () => {
    const text = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");
    expect(shortenMiddle(text, describeHidden)).toBe(text);
  });
});
