import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { TestApi } from "../../../extension/activate.ts";
import { cleanUp, lancelot, owner, until } from "./lancelot.ts";

const onEditor = vscode.window.onDidChangeActiveTextEditor as (listener: (e: never) => void) => vscode.Disposable;
const run = (command: string, argument?: Record<string, string>) => vscode.commands.executeCommand(`lancelot.${command}`, argument);
const shown = () => vscode.window.activeTextEditor?.document;

/** A draft of the owner's, changed so that there is something to propose. */
async function draft(jobs = 3): Promise<vscode.TextEditor> {
  await run("editSoul");
  const editor = vscode.window.activeTextEditor;
  assert.equal(editor?.document.uri.scheme, "untitled");
  const line = editor.document
    .getText()
    .split("\n")
    .findIndex((text) => text.includes("max_concurrent_jobs"));
  const { range } = editor.document.lineAt(line);
  await editor.edit((edit) => edit.replace(range, `  max_concurrent_jobs: ${jobs}`));
  return editor;
}

/** Proposes a draft with the owner's hand, and gives the proposal. */
async function proposed(api: TestApi, reason: string, jobs: number) {
  await draft(jobs);
  owner("type", reason);
  await run("proposeSoul");
  const { pendingProposals } = await api.call("soul.status", {});
  const proposal = pendingProposals.find((candidate) => candidate.reason === reason);
  assert.ok(proposal, "the proposal is there");
  return proposal;
}

suite("the soul in the editor", () => {
  let api: TestApi;
  let first: string;
  suiteSetup(async () => {
    api = await lancelot();
    const { activeVersion } = await api.call("soul.status", {});
    assert.ok(activeVersion, "a soul is in effect");
    first = activeVersion;
  });
  teardown(() => cleanUp(api));

  test("the active version opens as YAML that cannot be edited", async () => {
    await run("showSoul");
    const document = shown();
    assert.equal(document?.uri.toString(), `lancelot-soul:/soul_${first}.yaml`);
    assert.equal(document.languageId, "yaml");
    assert.equal(document.getText(), (await api.call("soul.get", {})).yaml);
    await vscode.commands.executeCommand("type", { text: "x" });
    assert.equal(document.getText(), (await api.call("soul.get", {})).yaml);
  });

  test("a draft has the next version and a name with the next step; reopening it keeps the edits", async () => {
    const editor = await draft();
    assert.match(editor.document.getText(), /^version: v2$/m);
    assert.match(editor.document.uri.path, /soul_v2 \(run “Propose Soul” when done\)\.yaml$/);
    await vscode.commands.executeCommand("workbench.action.files.newUntitledFile");
    await run("editSoul");
    assert.match(shown()?.getText() ?? "", /max_concurrent_jobs: 3/);
  });

  test("a proposal by the owner is compared with the active soul, and nothing is decided when the dialog is canceled", async () => {
    const proposal = await proposed(api, "Fewer jobs at once", 3);
    assert.equal(proposal.fromVersion, first);
    assert.equal(proposal.proposedBy, "owner");

    await run("reviewSoulProposals", { id: proposal.id });
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    assert.ok(input instanceof vscode.TabInputTextDiff, "a diff is shown");
    assert.equal(input.original.toString(), `lancelot-soul:/soul_${first}.yaml`);
    const document = await vscode.workspace.openTextDocument(input.modified);
    assert.equal(document.getText(), proposal.yaml);

    // Dialogs are cancelled here: that is a no.
    const status = async () => (await api.call("soul.proposals", {})).items.find(({ id }) => id === proposal.id)?.status;
    await run("approveSoul", { id: proposal.id });
    assert.equal(await status(), "pending");
    owner("type", "Not now");
    await run("rejectSoul", { id: proposal.id });
    assert.equal(await status(), "pending");
    await api.call("soul.approve", { id: proposal.id });
    await run("activateSoul", { id: proposal.id });
    assert.equal(await status(), "approved");
    assert.equal((await api.call("soul.status", {})).activeVersion, first);
  });

  test("versions are shown unchanged, and rolling back asks for confirmation", async () => {
    const proposal = await proposed(api, "Two jobs at once", 2);
    await api.call("soul.approve", { id: proposal.id });
    const { toVersion } = await api.call("soul.activate", { id: proposal.id });
    await run("showSoul");
    await until(onEditor, () => shown()?.uri.path === `/soul_${toVersion}.yaml`);
    assert.match(shown()?.getText() ?? "", /max_concurrent_jobs: 2/);
    await run("rollBackSoul", { version: first });
    assert.equal((await api.call("soul.status", {})).activeVersion, toVersion);
    await run("compareSoul", { version: first });
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    assert.ok(input instanceof vscode.TabInputTextDiff);
    assert.equal(`${input.original.path} ${input.modified.path}`, `/soul_${first}.yaml /soul_${toVersion}.yaml`);
    await api.call("soul.rollback", { version: first });
  });

  test("a soul with a critical issue is not proposed, and the issues are shown", async () => {
    const editor = await draft();
    const text = editor.document.getText();
    const whole = new vscode.Range(editor.document.positionAt(0), editor.document.positionAt(text.length));
    await editor.edit((edit) => edit.replace(whole, text.replace("no_autonomous_irreversible: true", "no_autonomous_irreversible: false")));
    const before = (await api.call("soul.proposals", {})).items.length;
    await run("proposeSoul");
    assert.equal((await api.call("soul.proposals", {})).items.length, before);
  });
});
