import * as vscode from "vscode";
import type { UiAction } from "../../agent-server/contract/webview.ts";
import { uriOf } from "../editor/workspace-path.ts";

/** Runs an action that a view requested and only the extension can do. */
export async function runUiAction(action: UiAction): Promise<void> {
  switch (action.action) {
    case "openFile": {
      const line = Math.max((action.line ?? 1) - 1, 0);
      const selection = action.line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) };
      await vscode.commands.executeCommand("vscode.open", uriOf(action.path), { preview: true, ...selection });
      return;
    }
    case "openChange":
      await vscode.commands.executeCommand("lancelot.openChange", { changeId: action.changeId });
      return;
    case "reviewAll":
      await vscode.commands.executeCommand("lancelot.reviewAll", { questId: action.questId });
      return;
    case "openReceipt":
      await vscode.commands.executeCommand("lancelot.openWarRoom", { receiptId: action.receiptId });
      return;
    case "openExternal":
      await vscode.env.openExternal(vscode.Uri.parse(action.url, true));
      return;
    case "insertAtCursor":
      await insertAtCursor(action.text);
      return;
    case "copy":
      await vscode.env.clipboard.writeText(action.text);
      return;
    case "saveMarkdown":
      await saveMarkdown(action.name, action.text);
      return;
    case "command":
      await vscode.commands.executeCommand(action.command, ...(action.args ?? []));
      return;
  }
}

/** Inserts into the last used editor: while a view has the focus there may be no active one. */
async function insertAtCursor(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "file");
  if (editor === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open a file first. The text is inserted at its cursor."));
    return;
  }
  await editor.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}

async function saveMarkdown(name: string, text: string): Promise<void> {
  const file = `${name.replaceAll(/[^\p{L}\p{N} ._-]+/gu, "-").slice(0, 80) || "quest"}.md`;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, file) } : {}),
    filters: { Markdown: ["md"] },
  });
  if (target === undefined) return;
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(target);
}
