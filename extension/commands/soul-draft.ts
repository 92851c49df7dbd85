import * as vscode from "vscode";
import { nextVersion, withVersion } from "../review/soul-text.ts";

/**
 * Opens an unsaved draft of a soul whose name tells the next step. A draft that is already open is shown unchanged,
 * so that no edit is lost.
 */
export async function openSoulDraft(yaml: string, versions: readonly string[]): Promise<vscode.TextDocument> {
  const version = nextVersion(versions);
  const name = vscode.l10n.t("soul_{0} (run “Propose Soul” when done)", version);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.path ?? "";
  const uri = vscode.Uri.from({ scheme: "untitled", path: `${folder}/${name}.yaml` });
  const document = await vscode.workspace.openTextDocument(uri);
  if (document.getText() === "") {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(uri, new vscode.Position(0, 0), withVersion(yaml, version));
    await vscode.workspace.applyEdit(edit);
  }
  await vscode.window.showTextDocument(document);
  return document;
}
