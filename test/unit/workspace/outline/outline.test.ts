import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { runs } from "../../../support/soak.ts";
import { describe, expect, it } from "vitest";
import type { AskEditor } from "../../../../agent-server/contract/editor.ts";
import { createOutliner, type Outline } from "../../../../agent-server/workspace/outline/outline.ts";

const folder = join(import.meta.dirname, "../../../fixtures/outlines");
// With an ending more, so that no tool of the project takes them for its sources.
const files = readdirSync(folder).flatMap((name) => (name === "expected.txt" ? [] : [name.replace(/\.txt$/, "")]));
const outliner = createOutliner({ distDir: null, askEditor: null });
const textOf = (name: string): string => readFileSync(join(folder, `${name}.txt`), "utf8");

function shown({ entries }: Outline): string[] {
  return entries.map(
    ({ name, kind, startLine, endLine, depth }) => `${"  ".repeat(depth)}${String(startLine)}-${String(endLine)} ${kind} ${name}`,
  );
}

/** Sections of `expected.txt`: `== file`, then a line an entry. */
const expected = new Map(
  readFileSync(join(folder, "expected.txt"), "utf8")
    .split(/^== /m)
    .filter((section) => section !== "")
    .map((section) => {
      const [name = "", ...lines] = section.trimEnd().split("\n");
      return [name, lines] as const;
    }),
);

describe("an outline", () => {
  it.each(files)("of %s lists definitions with lines", async (name) => {
    const outline = await outliner.outline(name, textOf(name));
    expect(shown(outline)).toEqual(expected.get(name));
    expect(outline.problem).toBeNull();
  });

  it("lists what it can parse of broken source, and reports the problem", async () => {
    const outline = await outliner.outline(
      "a.ts",
      "export class Cart {\n  total() { return 1; }\n}\nexport function load( {\nconst {{{ =\n",
    );
    expect(shown(outline)).toContain("  2-2 method total");
    expect(outline.problem).toContain("syntax errors");
  });

  it("is valid for any truncated file: lines within the text, outer before inner", async () => {
    const cut = fc.tuple(fc.constantFrom(...files), fc.double({ min: 0, max: 1, noNaN: true }), fc.string({ maxLength: 8 }));
    await fc.assert(
      fc.asyncProperty(cut, async ([name, share, junk]) => {
        const whole = textOf(name);
        const text = whole.slice(0, Math.floor(whole.length * share)) + junk;
        const lines = text.split("\n").length;
        const { entries } = await outliner.outline(name, text);
        for (const { startLine, endLine, depth, name: named } of entries) {
          expect(startLine).toBeGreaterThanOrEqual(1);
          expect(endLine).toBeGreaterThanOrEqual(startLine);
          expect(endLine).toBeLessThanOrEqual(lines);
          expect(depth).toBeGreaterThanOrEqual(0);
          expect(named).not.toBe("");
        }
      }),
      { numRuns: runs(150, 1500), examples: [[["sample.py", 0, ":!0"]], [["sample.yaml", 0, '"": 1']], [["sample.json", 0, '{"": 1}']]] },
    );
  });

  it("is limited: long texts are refused, and long lists are cut", async () => {
    await expect(outliner.outline("a.ts", "x".repeat(1_500_001))).rejects.toMatchObject({ code: "too_large" });
    const many = Array.from({ length: 3_000 }, (_, index) => `export function f${String(index)}() {}`).join("\n");
    const { entries, problem } = await outliner.outline("a.ts", many);
    expect(entries).toHaveLength(1_000);
    expect(problem).not.toBeNull();
  });

  it("handles deep nesting", async () => {
    const { entries } = await outliner.outline("a.py", `${"if x:\n".repeat(1)}${"(".repeat(20_000)}`);
    expect(entries).toEqual([]);
  });

  it("asks the editor for languages without a grammar, and reports when there is none", async () => {
    const entry = { name: "main", kind: "function", startLine: 1, endLine: 2, depth: 0, signature: "main" };
    const askEditor = ((_name: string, params: { path: string }) =>
      Promise.resolve({ language: "kotlin", entries: params.path === "a.kt" ? [entry] : [] })) as unknown as AskEditor;
    const withEditor = createOutliner({ distDir: null, askEditor });
    await expect(withEditor.outline("a.kt", "fun main() {\n}")).resolves.toMatchObject({
      language: "kotlin",
      source: "editor",
      entries: [entry],
    });
    await expect(withEditor.outline("b.xyz", "x")).rejects.toThrow("b.xyz");
    await expect(outliner.outline("a.kt", "fun main() {}")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("finds headings of Markdown that ends its lines with carriage returns", async () => {
    const { entries } = await outliner.outline("a.md", "# One\r\n\r\n## Two ##\r\ntext\r\n");
    expect(entries.map(({ name }) => name)).toEqual(["One", "Two"]);
  });
});
