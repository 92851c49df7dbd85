import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { TestApi } from "../../../extension/activate.ts";
import { cleanUp, lancelot, until, write } from "./lancelot.ts";

const onDiagnostics = vscode.languages.onDidChangeDiagnostics as (listener: (e: never) => void) => vscode.Disposable;

/** The codes of what Lancelot says of a document, once they are as wanted. */
async function codes(uri: vscode.Uri, wanted: (found: string[]) => boolean): Promise<string[]> {
  const found = () =>
    vscode.languages
      .getDiagnostics(uri)
      .filter(({ source }) => source === "Lancelot")
      .map(({ code }) => String(typeof code === "object" ? code.value : code));
  return until(onDiagnostics, () => (wanted(found()) ? found() : null));
}

suite("language features of YAML", () => {
  let api: TestApi;
  let yaml: string;
  suiteSetup(async () => {
    api = await lancelot();
    yaml = (await api.call("soul.get", {})).yaml;
  });
  teardown(() => cleanUp(api));

  test("a soul file shows schema and rule problems, which go away when they are corrected", async () => {
    const uri = await write(
      "soul_versions/soul_v7.yaml",
      yaml.replace("level: autonomous", "level: wild").replace("no_autonomous_irreversible: true", "no_autonomous_irreversible: false"),
    );
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document);
    assert.deepEqual((await codes(uri, (found) => found.length >= 2)).sort(), ["scheduling_no_autonomous_irreversible", "schema"]);
    const places = vscode.languages.getDiagnostics(uri).map(({ range }) => document.getText(range));
    assert.ok(places.includes("wild"), places.join(" | "));
    await editor.edit((edit) => edit.replace(new vscode.Range(0, 0, document.lineCount, 0), yaml));
    assert.deepEqual(await codes(uri, (found) => found.length === 0), []);
    await document.save();
  });

  test("sections and values are completed, and hovering a field shows its description", async () => {
    const uri = await write("soul.yaml", "version: v1\nautonomy_posture:\n  level: \n\n");
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
    await codes(uri, (found) => found.includes("schema"));
    const offered = async (line: number, column: number) => {
      const list = await vscode.commands.executeCommand<vscode.CompletionList>(
        "vscode.executeCompletionItemProvider",
        uri,
        new vscode.Position(line, column),
      );
      return list.items.map(({ label }) => (typeof label === "string" ? label : label.label));
    };
    const sections = await offered(3, 0);
    for (const name of ["mission", "approval_rules", "tone_invariants"]) assert.ok(sections.includes(name), sections.join(" "));
    const levels = await offered(2, 9);
    for (const name of ["supervised", "autonomous"]) assert.ok(levels.includes(name), levels.join(" "));
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", uri, new vscode.Position(0, 2));
    const text = hovers.flatMap(({ contents }) => contents.map((content) => (typeof content === "string" ? content : content.value)));
    assert.match(text.join("\n"), /A version is written once/);
  });

  test("YAML that is not Lancelot's is left alone", async () => {
    const uri = await write("config/models.yaml", "providers: 7\n");
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
    const soul = await write("soul.yaml", "version: 3\n");
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(soul));
    await codes(soul, (found) => found.length > 0);
    assert.deepEqual(vscode.languages.getDiagnostics(uri), []);
  });
});
