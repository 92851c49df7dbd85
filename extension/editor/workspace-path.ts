import * as vscode from "vscode";

/** The host's workspace: the first folder of the window. */
function workspaceRoot(): vscode.Uri | null {
  return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file")?.uri ?? null;
}

/**
 * The URI of a workspace-relative path with forward slashes.
 * @throws Error when the path is absolute or leaves the workspace. The host enforces path policy; this only catches mistakes.
 */
export function uriOf(path: string): vscode.Uri {
  const root = workspaceRoot();
  if (root === null) throw new Error(vscode.l10n.t("No folder is open."));
  if (path === "" || /^([/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes(".."))
    throw new Error(vscode.l10n.t("{0} is not a path inside the workspace.", path));
  return vscode.Uri.joinPath(root, path);
}

/** The workspace-relative path of a file, with forward slashes; null when it is outside. */
export function pathOf(uri: vscode.Uri): string | null {
  const root = workspaceRoot();
  if (root === null || uri.scheme !== root.scheme) return null;
  const prefix = root.path.endsWith("/") ? root.path : `${root.path}/`;
  if (uri.path.startsWith(prefix)) return uri.path.slice(prefix.length);
  // A drive letter may come in either case.
  const windows = process.platform === "win32" && uri.path.toLowerCase().startsWith(prefix.toLowerCase());
  return windows ? uri.path.slice(prefix.length) : null;
}
