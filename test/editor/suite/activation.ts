import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { lancelot, root } from "./lancelot.ts";

/** Commands the editor itself makes for every view. */
const generated = /^lancelot\.(chat|changes|approvals)\.(focus|open|removeView|resetViewLocation|toggleVisibility)$/;

suite("activation", () => {
  test("the agent host becomes ready and serves this folder", async () => {
    const api = await lancelot();
    const info = await api.call("host.info", {});
    assert.equal(api.hostState().state, "ready");
    assert.equal(info.pid, api.hostPid());
    assert.equal(info.workspace, root().path.split("/").at(-1));
    assert.equal(info.posture, "supervised");
  });

  test("every command of the manifest is registered, and no other", async () => {
    await lancelot();
    const manifest = vscode.extensions.getExtension("lancelot.lancelot")?.packageJSON as {
      contributes: { commands: { command: string }[] };
    };
    const registered = (await vscode.commands.getCommands(true)).filter((id) => id.startsWith("lancelot.") && !generated.test(id));
    assert.deepEqual(registered.sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  });

  test("a key is kept in SecretStorage, listed by name, and goes when it is removed", async () => {
    const { call } = await lancelot();
    await call("vault.set", { name: "LANCELOT_TEST_KEY", value: "not a real key" });
    assert.ok((await call("vault.list", {})).items.includes("LANCELOT_TEST_KEY"));
    await call("vault.delete", { name: "LANCELOT_TEST_KEY" });
    assert.ok(!(await call("vault.list", {})).items.includes("LANCELOT_TEST_KEY"));
  });

  test("the problems the editor shows reach the agent", async () => {
    const { call } = await lancelot();
    const problems = vscode.languages.createDiagnosticCollection("test");
    const range = new vscode.Range(2, 4, 2, 9);
    problems.set(vscode.Uri.joinPath(root(), "src/cart.js"), [
      new vscode.Diagnostic(range, "that is not a cart", vscode.DiagnosticSeverity.Warning),
    ]);
    try {
      const { output } = await call("tools.invoke", { tool: "diagnostics", args: {} });
      assert.match(output, /src\/cart\.js/);
      assert.match(output, /3/);
      assert.match(output, /that is not a cart/);
    } finally {
      problems.dispose();
    }
  });
});
