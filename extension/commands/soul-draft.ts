import * as vscode from "vscode";

/** The number after the highest; versions are `v` and a number. */
export function nextVersion(versions: readonly string[]): string {
  const numbers = versions.map((version) => Number(version.slice(1))).filter(Number.isInteger);
  return `v${Math.max(0, ...numbers) + 1}`;
}

/** The text with its version raised; comments and layout stay. */
export function withVersion(yaml: string, version: string): string {
  return yaml.replace(/^(version:[ \t]*)(["']?)v\d+\2/m, (_, key: string, quote: string) => `${key}${quote}${version}${quote}`);
}

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
