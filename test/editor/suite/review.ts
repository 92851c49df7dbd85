import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { TestApi } from "../../../extension/activate.ts";
import { cleanUp, lancelot, numbered, onDisk, propose, until, write } from "./lancelot.ts";

const before = `${numbered(40).join("\n")}\n`;
/** Four hunks: a line changed, two added, three removed, a line changed. */
const after = (() => {
  const lines = numbered(40);
  lines[2] = "third";
  lines.splice(10, 0, "new one", "new two");
  lines.splice(22, 3);
  lines[30] = "later";
  return `${lines.join("\n")}\n`;
})();

const activeTab = () => vscode.window.tabGroups.activeTabGroup.activeTab;
const shownDiff = () =>
  activeTab()?.input instanceof vscode.TabInputTextDiff ? (activeTab()?.input as vscode.TabInputTextDiff) : undefined;
const onTabs = vscode.window.tabGroups.onDidChangeTabs as (listener: (e: never) => void) => vscode.Disposable;
const onEditor = vscode.window.onDidChangeActiveTextEditor as (listener: (e: never) => void) => vscode.Disposable;
const onText = vscode.workspace.onDidChangeTextDocument as (listener: (e: never) => void) => vscode.Disposable;

/** The proposed side in front, once it is there. */
async function proposedEditor(name: string): Promise<vscode.TextEditor> {
  return until(onEditor, () => {
    const editor = vscode.window.activeTextEditor;
    return editor?.document.uri.scheme === "lancelot-proposed" && editor.document.uri.path.endsWith(`/${name}`) ? editor : undefined;
  });
}

async function lenses(uri: vscode.Uri): Promise<{ line: number; command: string }[]> {
  const found = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", uri, 100);
  return found.map(({ range, command }) => ({ line: range.start.line, command: command?.command.replace(/^lancelot\./, "") ?? "" }));
}

suite("inline diff approval", () => {
  let api: TestApi;
  suiteSetup(async () => {
    api = await lancelot();
  });
  teardown(() => cleanUp(api));

  test("a change opens as a diff of the file and the proposal, with actions above every hunk", async () => {
    const uri = await write("diff.txt", before);
    const change = await propose(api, "diff.txt", after);
    await vscode.commands.executeCommand("lancelot.openChange", { changeId: change.id });
    const editor = await proposedEditor("diff.txt");
    assert.equal(shownDiff()?.original.toString(), uri.toString());
    assert.equal(editor.document.getText(), after);
    assert.equal(editor.selection.active.line, 2, "the cursor is at the first hunk");
    const found = await lenses(editor.document.uri);
    assert.deepEqual(
      found.filter(({ command }) => command === "acceptHunk").map(({ line }) => line),
      [2, 10, 22, 30],
    );
    assert.deepEqual(
      found.filter(({ line }) => line === 10).map(({ command }) => command),
      ["acceptHunk", "rejectHunk", "acceptFile", "rejectFile"],
    );
    assert.equal(await onDisk(uri), before, "nothing is written before the owner decides");
  });

  test("hunks are decided one by one, from the cursor, and positions follow", async () => {
    const uri = await write("hunks.txt", before);
    const change = await propose(api, "hunks.txt", after);
    await vscode.commands.executeCommand("lancelot.openChange", { changeId: change.id });
    const editor = await proposedEditor("hunks.txt");

    await vscode.commands.executeCommand("lancelot.acceptHunk");
    assert.equal(await onDisk(uri), before.replace("line 3\n", "third\n"));
    assert.equal(editor.selection.active.line, 10, "the cursor is at the next hunk");

    await vscode.commands.executeCommand("lancelot.rejectHunk");
    await until(onText, () => !editor.document.getText().includes("new one"));
    assert.deepEqual(
      (await lenses(editor.document.uri)).filter(({ command }) => command === "acceptHunk").map(({ line }) => line),
      [20, 28],
      "the hunks below moved up with the two lines that went",
    );
    assert.equal(editor.selection.active.line, 20);

    await vscode.commands.executeCommand("lancelot.rejectHunk", { changeId: change.id, hunk: 2 });
    await vscode.commands.executeCommand("lancelot.acceptHunk", { changeId: change.id, hunk: 3 });
    assert.equal(await onDisk(uri), before.replace("line 3\n", "third\n").replace("line 32\n", "later\n"));
    const { change: decided } = await api.call("changes.get", { id: change.id });
    assert.deepEqual(
      decided.hunks.map(({ state }) => state),
      ["accepted", "rejected", "rejected", "accepted"],
    );
  });

  test("a file with nothing left to decide gives way to the next one", async () => {
    await write("first.txt", "a\n");
    const second = await write("second.txt", "b\n");
    const change = await propose(api, "first.txt", "A\n");
    await propose(api, "second.txt", "B\n");
    await vscode.commands.executeCommand("lancelot.openChange", { changeId: change.id });
    await proposedEditor("first.txt");
    await vscode.commands.executeCommand("lancelot.acceptFile");
    await until(onTabs, () => shownDiff()?.original.toString() === second.toString());
    // The decided one is closed.
    await until(onTabs, () => !vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ label }) => label.startsWith("first.txt"))));
    await vscode.commands.executeCommand("lancelot.rejectFile");
    assert.equal(await onDisk(second), "b\n");
  });

  test("next and previous go through the hunks of a file", async () => {
    await write("moves.txt", before);
    const change = await propose(api, "moves.txt", after);
    await vscode.commands.executeCommand("lancelot.openChange", { changeId: change.id });
    const editor = await proposedEditor("moves.txt");
    const lines: number[] = [];
    for (const command of ["nextHunk", "nextHunk", "nextHunk", "nextHunk", "previousHunk", "previousHunk"]) {
      await vscode.commands.executeCommand(`lancelot.${command}`);
      lines.push(editor.selection.active.line);
    }
    assert.deepEqual(lines, [10, 22, 30, 2, 30, 22]);
  });

  test("a new file opens against nothing and is made when it is accepted", async () => {
    const change = await propose(api, "fresh.txt", "hello\n");
    await vscode.commands.executeCommand("lancelot.openChange", { changeId: change.id });
    const editor = await proposedEditor("fresh.txt");
    assert.equal(editor.document.getText(), "hello\n");
    assert.deepEqual(
      (await lenses(editor.document.uri)).map(({ command }) => command),
      ["acceptFile", "rejectFile"],
    );
    await vscode.commands.executeCommand("lancelot.acceptFile");
    assert.equal(
      await onDisk(vscode.Uri.joinPath(vscode.workspace.workspaceFolders?.[0]?.uri ?? editor.document.uri, "fresh.txt")),
      "hello\n",
    );
  });

  test("several files open together in one multi-diff editor", async () => {
    await write("one.txt", "a\n");
    await write("two.txt", "b\n");
    await propose(api, "one.txt", "A\n");
    await propose(api, "two.txt", "B\n");
    await vscode.commands.executeCommand("lancelot.reviewAll");
    await until(onTabs, () => activeTab()?.label.startsWith("Proposed Changes"));
    const { items } = await api.call("changes.list", { open: true });
    for (const { id } of items) await vscode.commands.executeCommand("lancelot.acceptFile", { changeId: id });
    await until(
      onTabs,
      () => !vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ label }) => label.startsWith("Proposed Changes"))),
    );
  });
});
