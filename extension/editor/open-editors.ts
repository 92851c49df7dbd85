import * as vscode from "vscode";
import type { EditorResult } from "../../agent-server/contract/editor.ts";
import { maxOpenEditors, maxSelectedText } from "../../agent-server/contract/open-editor-limits.ts";
import { pathOf } from "./workspace-path.ts";

/** The files of the workspace that are open in this window, and the selection of the active editor. Lines start at 1. */
export function readOpenEditors(): EditorResult<"openEditors"> {
  const { activeTextEditor, visibleTextEditors, tabGroups } = vscode.window;
  const active = activeTextEditor === undefined ? null : pathOf(activeTextEditor.document.uri);
  const visible = new Set(visibleTextEditors.flatMap(({ document }) => pathOf(document.uri) ?? []));
  const inTabs = tabGroups.all.flatMap(({ tabs }) => tabs.flatMap(({ input }) => (isTextTab(input) ? (pathOf(input.uri) ?? []) : [])));
  const paths = [...new Set([...(active === null ? [] : [active]), ...visible, ...inTabs])];
  return {
    editors: paths.slice(0, maxOpenEditors).map((path) => ({ path, active: path === active, visible: visible.has(path) })),
    more: Math.max(paths.length - maxOpenEditors, 0),
    selection: activeTextEditor === undefined || active === null ? null : selectionOf(active, activeTextEditor),
  };
}

function isTextTab(input: unknown): input is vscode.TabInputText {
  return input instanceof vscode.TabInputText;
}

function selectionOf(path: string, { document, selection }: vscode.TextEditor): EditorResult<"openEditors">["selection"] {
  const { start, end } = selection;
  // A selection that ends before the first character of a line does not contain that line.
  const lastLine = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  const length = document.offsetAt(end) - document.offsetAt(start);
  return {
    path,
    startLine: start.line + 1,
    endLine: lastLine + 1,
    text: length === 0 || length > maxSelectedText ? null : document.getText(selection),
  };
}
