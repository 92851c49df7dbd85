import * as vscode from "vscode";
import type { EditorResult } from "../../agent-server/contract/editor.ts";
import { pathOf, uriOf } from "./workspace-path.ts";

const severities = ["error", "warning", "information", "hint"] as const;
const maxItems = 1000;

/** Problems that VS Code shows for one file or the whole workspace, most severe first. Lines and columns start at 1. */
export function readDiagnostics(path: string | undefined): EditorResult<"diagnostics"> {
  const entries: readonly [vscode.Uri, readonly vscode.Diagnostic[]][] =
    path === undefined ? vscode.languages.getDiagnostics() : [[uriOf(path), vscode.languages.getDiagnostics(uriOf(path))]];
  const items = entries.flatMap(([uri, diagnostics]) => {
    const relative = pathOf(uri);
    if (relative === null) return [];
    return diagnostics.map((diagnostic) => ({
      path: relative,
      line: diagnostic.range.start.line + 1,
      column: diagnostic.range.start.character + 1,
      severity: severities[diagnostic.severity],
      message: diagnostic.message,
      source: diagnostic.source ?? "",
    }));
  });
  items.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity) || a.path.localeCompare(b.path) || a.line - b.line);
  return { items: items.slice(0, maxItems) };
}
