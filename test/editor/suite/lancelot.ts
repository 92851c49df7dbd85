import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { TestApi } from "../../../extension/activate.ts";

/** The extension under test, active. */
export async function lancelot(): Promise<TestApi> {
  const extension = vscode.extensions.getExtension<TestApi>("lancelot.lancelot");
  assert.ok(extension, "Lancelot is installed");
  return extension.activate();
}

/** Waits for an event to make something true; no clock but the test's own limit. */
export async function until<T>(
  event: (listener: (e: never) => void) => vscode.Disposable,
  holds: () => T | undefined | false | null,
): Promise<T> {
  const at = holds();
  if (at !== undefined && at !== false && at !== null) return at;
  return new Promise<T>((resolve, reject) => {
    const listener = event(() => {
      try {
        const value = holds();
        if (value === undefined || value === false || value === null) return;
        listener.dispose();
        resolve(value);
      } catch (error) {
        listener.dispose();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
}

export function root(): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, "a folder is open");
  return folder.uri;
}

export function file(name: string): vscode.Uri {
  return vscode.Uri.joinPath(root(), name);
}

export async function onDisk(uri: vscode.Uri): Promise<string> {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await vscode.workspace.fs.readFile(uri));
}

export async function write(name: string, text: string): Promise<vscode.Uri> {
  const uri = file(name);
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  return uri;
}

/** Asks the owner's hand (test/editor/editor.test.ts) for a choice or a text in what the editor is about to show. */
export function owner(act: "type" | "pick", text: string): void {
  console.log(`@${act} ${text}`);
}

export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `line ${i + 1}`);
}

/** Has the agent propose an edit, through the whole execution pipeline. */
export async function propose(api: TestApi, name: string, content: string): Promise<Change> {
  const { changeId } = await api.call("tools.invoke", { tool: "write_file", args: { path: name, content } });
  assert.ok(changeId, "the edit is proposed, not written");
  return (await api.call("changes.get", { id: changeId })).change;
}

/** Leaves no editor and no proposal to the next test. */
export async function cleanUp(api: TestApi): Promise<void> {
  const { items } = await api.call("changes.list", { open: true });
  for (const { id } of items) await api.call("changes.decide", { id, decision: "reject" });
  for (const document of vscode.workspace.textDocuments)
    if (document.isDirty) {
      await vscode.window.showTextDocument(document);
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    }
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
}
