import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

let fixture: ToolsFixture;
/** What the editor's language service answers. */
let service: Record<string, unknown> | null;
let asked: unknown[];

const editor = ((name: string, params: unknown) => {
  if (name === "unsavedText") return Promise.resolve({ text: null });
  if (name === "symbols") return Promise.resolve({ language: "plaintext", entries: [] });
  asked.push([name, params]);
  return Promise.resolve(service ?? { items: [], truncated: false, answered: false });
}) as unknown as AskEditor;

function open(askEditor: AskEditor | null): void {
  service = null;
  asked = [];
  fixture = createToolsFixture({ askEditor });
  fixture.write("src/cart.ts", "export class Cart {\n  total(): number { return 0; }\n}\nexport const subtotal = 1;\n");
  fixture.write("src/main.ts", 'import { Cart } from "./cart.ts";\nconst cart = new Cart();\ncart.total();\n');
  fixture.write("ignored/copy.ts", "export class Cart {}\n");
  fixture.write(".gitignore", "ignored/\n");
  fixture.write(".env", "Cart=1\n");
}

beforeEach(() => open(editor));
afterEach(() => fixture.close());

describe("find_references", () => {
  it("asks the editor at the position of the name, and shows each line", async () => {
    service = {
      items: [
        { path: "src/main.ts", line: 3, column: 6 },
        { path: "src/cart.ts", line: 2, column: 3 },
        { path: "src/main.ts", line: 3, column: 6 },
        { path: ".env", line: 1, column: 1 },
        { path: "../outside.ts", line: 1, column: 1 },
      ],
      ...{ truncated: false, answered: true },
    };
    const { text, isError } = await fixture.run("find_references", { name: "total", path: "src/cart.ts" });
    expect(isError).toBe(false);
    expect(text).toBe("src/cart.ts:2: total(): number { return 0; }\nsrc/main.ts:3: cart.total();");
    expect(asked).toEqual([["references", { path: "src/cart.ts", line: 2, column: 3 }]]);
  });

  it.each([
    ["without an editor", null, "no editor"],
    ["when the language service does not answer", editor, "did not answer"],
  ])("searches for the word, with a note, %s", async (_case, askEditor, message) => {
    open(askEditor);
    const { text } = await fixture.run("find_references", { name: "Cart", path: "src/main.ts" });
    expect(text.split("\n")[0]).toContain(message);
    expect(text).toContain("src/cart.ts:1: export class Cart {");
    expect(text).toContain("src/main.ts:2: const cart = new Cart();");
    // Ignored and secret files are left out, and so are other words.
    for (const out of ["ignored/", ".env", "subtotal"]) expect(text).not.toContain(out);
  });

  it("accepts names with any characters", async () => {
    fixture.write("a.php", "<?php $total = 1; echo $total . '$totals';\n");
    const { text } = await fixture.run("find_references", { name: "$total", path: "a.php" });
    expect(text).toContain("a.php:1:");
    expect((await fixture.run("find_references", { name: "a.b*(", path: "a.php" })).text).toContain("a.b*(");
  });
});

describe("go_to_definition", () => {
  it("asks the editor", async () => {
    service = { items: [{ path: "src/cart.ts", line: 1, column: 14 }], truncated: false, answered: true };
    const { text } = await fixture.run("go_to_definition", { name: "Cart", path: "src/main.ts", line: 2 });
    expect(text).toBe("src/cart.ts:1: export class Cart {");
    expect(asked).toEqual([["definition", { path: "src/main.ts", line: 2, column: 18 }]]);
  });

  it("searches outlines without an editor, with a note", async () => {
    open(null);
    const { text } = await fixture.run("go_to_definition", { name: "total", path: "src/main.ts" });
    expect(text.split("\n").slice(1)).toEqual(["src/cart.ts:2: method total(): number"]);
    const missing = await fixture.run("go_to_definition", { name: "nowhere", path: "src/main.ts" });
    expect(missing).toMatchObject({ isError: true, text: expect.stringContaining("may come from a library") as string });
  });
});

describe("get_file_outline", () => {
  it("lists lines, kinds and signatures, including proposed edits", async () => {
    expect((await fixture.run("get_file_outline", { path: "src/cart.ts" })).text).toBe(
      ["src/cart.ts: typescript, 5 lines", "1-3 class Cart", "  2 method total(): number", "4 constant subtotal = 1"].join("\n"),
    );
    await fixture.run("edit_file", { path: "src/cart.ts", old_text: "subtotal = 1", new_text: "grandTotal = 2" });
    expect((await fixture.run("get_file_outline", { path: "src/cart.ts" })).text).toContain("grandTotal = 2");
  });

  it.each([
    ["src", "is a folder"],
    ["missing.ts", "does not exist"],
    ["a.xyz", "There is no grammar"],
  ])("reports %s", async (path, message) => {
    fixture.write("a.xyz", "words\n");
    expect(await fixture.run("get_file_outline", { path })).toMatchObject({
      isError: true,
      text: expect.stringContaining(message) as string,
    });
  });

  it("is denied for a file with secrets, as a tool and as a method", async () => {
    expect((await fixture.run("get_file_outline", { path: ".env" })).isError).toBe(true);
    await expect(fixture.tools.outline(".env")).rejects.toMatchObject({ code: "denied" });
    await expect(fixture.tools.outline("/etc/passwd")).rejects.toMatchObject({ code: "denied" });
    await expect(fixture.tools.outline("src/cart.ts")).resolves.toMatchObject({
      path: "src/cart.ts",
      source: "tree-sitter",
      problem: null,
    });
  });
});
