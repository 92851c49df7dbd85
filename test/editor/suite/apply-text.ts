import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { TestApi } from "../../../extension/activate.ts";
import { cleanUp, file, lancelot, numbered, onDisk, propose, write } from "./lancelot.ts";

suite("writing through the editor", () => {
  let api: TestApi;
  suiteSetup(async () => {
    api = await lancelot();
  });
  teardown(() => cleanUp(api));

  test("an accepted change is saved, and the editor's undo reverts it", async () => {
    const uri = await write("undo.txt", "one\ntwo\n");
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document);
    const { id } = await propose(api, "undo.txt", "one\n2\n");
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(document.getText(), "one\n2\n");
    assert.equal(document.isDirty, false);
    assert.equal(await onDisk(uri), "one\n2\n");
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("undo");
    assert.equal(document.getText(), "one\ntwo\n");
  });

  test("unsaved edits of the owner are merged with, not written over, and not saved for them", async () => {
    const uri = await write("dirty.txt", `${numbered(20).join("\n")}\n`);
    const document = await vscode.workspace.openTextDocument(uri);
    const { id } = await propose(api, "dirty.txt", `${numbered(20).with(17, "of the agent").join("\n")}\n`);
    const editor = await vscode.window.showTextDocument(document);
    await editor.edit((edit) => edit.replace(document.lineAt(1).range, "of the owner"));
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(document.getText(), `${numbered(20).with(1, "of the owner").with(17, "of the agent").join("\n")}\n`);
    assert.equal(document.isDirty, true);
    assert.equal(await onDisk(uri), `${numbered(20).join("\n")}\n`);
  });

  test("an edit of the owner in the same place is a conflict and stays", async () => {
    const uri = await write("conflict.txt", "one\ntwo\nthree\n");
    const document = await vscode.workspace.openTextDocument(uri);
    const { id } = await propose(api, "conflict.txt", "one\nagent\nthree\n");
    const editor = await vscode.window.showTextDocument(document);
    await editor.edit((edit) => edit.replace(document.lineAt(1).range, "owner"));
    const change = await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(change.hunks[0]?.state, "conflict");
    assert.ok(change.problem, "the owner is told");
    assert.equal(document.getText(), "one\nowner\nthree\n");
  });

  test("Windows line ends and a byte order mark stay as they were", async () => {
    const uri = await write("windows.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
    const { id } = await propose(api, "windows.txt", "one\ntwo\n3\n");
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(await onDisk(uri), "\uFEFFone\r\ntwo\r\n3\r\n");
  });

  test("a file that just changed on disk while open in the editor accepts the edit", async () => {
    const uri = await write("watched.txt", "one\n");
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document);
    await write("watched.txt", "one\ntwo\n");
    const { id } = await propose(api, "watched.txt", "one\ntwo\nthree\n");
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(await onDisk(uri), "one\ntwo\nthree\n");
  });

  test("a new file is created in a new folder, and undoing a restore recreates it", async () => {
    const { id } = await propose(api, "made/new.txt", "new\n");
    await api.call("changes.decide", { id, decision: "accept" });
    assert.equal(await onDisk(file("made/new.txt")), "new\n");
    const { items } = await api.call("checkpoints.list", {});
    const checkpoint = items.find(({ files }) => files.some(({ path }) => path === "made/new.txt"));
    assert.ok(checkpoint, "there is a before-image");
    const { undoCheckpointId } = await api.call("checkpoints.restore", { id: checkpoint.id });
    await assert.rejects(async () => vscode.workspace.fs.stat(file("made/new.txt")));
    assert.ok(undoCheckpointId, "a restore can be undone");
    await api.call("checkpoints.restore", { id: undoCheckpointId });
    assert.equal(await onDisk(file("made/new.txt")), "new\n");
  });
});
