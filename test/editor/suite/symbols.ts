import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { lancelot, root } from "./lancelot.ts";

const cart = { pattern: "**/src/cart.js" };

/** Places as a language service of the editor gives them. */
function location(path: string, line: number): vscode.Location {
  return new vscode.Location(vscode.Uri.joinPath(root(), path), new vscode.Position(line, 0));
}

suite("the editor's language services", () => {
  // The editor's own service for JavaScript answers beside the ones below. On a busy machine it starts slowly, and the agent does not wait.
  suiteSetup(async () => {
    const file = vscode.Uri.joinPath(root(), "src/cart.js");
    for (const ask of ["vscode.executeReferenceProvider", "vscode.executeDefinitionProvider"])
      await vscode.commands.executeCommand(ask, file, new vscode.Position(0, 0));
  });

  test("references reach the agent, those outside the workspace do not", async () => {
    const { call } = await lancelot();
    const service = vscode.languages.registerReferenceProvider(cart, {
      provideReferences: () => [location("src/cart.js", 0), new vscode.Location(vscode.Uri.file("/etc/hosts"), new vscode.Position(0, 0))],
    });
    try {
      const { output } = await call("tools.invoke", { tool: "find_references", args: { name: "function", path: "src/cart.js" } });
      assert.match(output, /^src\/cart\.js:1: /m);
      assert.doesNotMatch(output, /hosts|Searched as a word/);
    } finally {
      service.dispose();
    }
  });

  test("definitions reach the agent, as links too", async () => {
    const { call } = await lancelot();
    const service = vscode.languages.registerDefinitionProvider(cart, {
      provideDefinition: () => [{ targetUri: vscode.Uri.joinPath(root(), "src/cart.js"), targetRange: new vscode.Range(1, 0, 2, 0) }],
    });
    try {
      const { output } = await call("tools.invoke", { tool: "go_to_definition", args: { name: "function", path: "src/cart.js" } });
      assert.match(output, /^src\/cart\.js:2: /m);
    } finally {
      service.dispose();
    }
  });

  test("symbols make the outline of a language that has no grammar, nested as they are", async () => {
    const { call } = await lancelot();
    const uri = vscode.Uri.joinPath(root(), "notes.lancelot-words");
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode("one\ntwo\nthree\n"));
    const service = vscode.languages.registerDocumentSymbolProvider(
      { pattern: "**/*.lancelot-words" },
      {
        provideDocumentSymbols: () => {
          const range = new vscode.Range(0, 0, 2, 5);
          const outer = new vscode.DocumentSymbol("Words", "all of them", vscode.SymbolKind.Class, range, range);
          outer.children.push(
            new vscode.DocumentSymbol("two", "", vscode.SymbolKind.Method, new vscode.Range(1, 0, 1, 3), new vscode.Range(1, 0, 1, 3)),
          );
          return [outer];
        },
      },
    );
    try {
      const outline = await call("workspace.outline", { path: "notes.lancelot-words" });
      assert.equal(outline.source, "editor");
      assert.deepEqual(
        outline.entries.map(({ name, kind, startLine, endLine, depth }) => [name, kind, startLine, endLine, depth]),
        [
          ["Words", "class", 1, 3, 0],
          ["two", "method", 2, 2, 1],
        ],
      );
    } finally {
      service.dispose();
      await vscode.workspace.fs.delete(uri);
    }
  });

  test("the grammars that ship outline source files", async () => {
    const { call } = await lancelot();
    const outline = await call("workspace.outline", { path: "src/cart.js" });
    assert.equal(outline.source, "tree-sitter");
    assert.ok(outline.entries.length > 0);
  });
});
