import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { lancelot, write } from "./lancelot.ts";

suite("the fix of a problem", () => {
  test("is offered by the lightbulb, only on a problem, and knows its place", async () => {
    await lancelot();
    const uri = await write("problem.txt", "fine\nbroken\n");
    await vscode.workspace.openTextDocument(uri);
    const problems = vscode.languages.createDiagnosticCollection("test");
    const range = new vscode.Range(1, 0, 1, 6);
    problems.set(uri, [new vscode.Diagnostic(range, "This is broken.")]);
    const offered = async (at: vscode.Range): Promise<vscode.CodeAction[]> => {
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", uri, at);
      return actions.filter(({ command }) => command?.command === "lancelot.fixProblem");
    };
    try {
      const [action] = await offered(range);
      assert.ok(action?.command?.arguments);
      const [where, line] = action.command.arguments as [vscode.Uri, vscode.Range];
      assert.equal(where.toString(), uri.toString());
      assert.equal(line.start.line, 1);
      assert.deepEqual(await offered(new vscode.Range(0, 0, 0, 1)), []);
    } finally {
      problems.dispose();
      await vscode.workspace.fs.delete(uri);
    }
  });
});
