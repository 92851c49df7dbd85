import * as vscode from "vscode";
import { nextVersion, withVersion } from "../review/soul-text.ts";

/**
 * Opens a copy of a soul to work on, unsaved and named after what to do with it. A copy that is open already is shown as it is,
 * so that no edit of the owner is lost.
 */
export async function openSoulDraft(yaml: string, versions: readonly string[]): Promise<vscode.TextDocument> {
  const version = nextVersion(versions);
  const name = vscode.l10n.t("soul_{0} (run “Propose this soul” when done)", version);
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
