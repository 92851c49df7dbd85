import * as vscode from "vscode";
import { changeIdOf, emptyUri, proposedScheme, proposedUri } from "./documents.ts";

/** The change a tab shows as a diff; null for any other tab. */
export function changeOfTab(tab: vscode.Tab | undefined): string | null {
  return tab?.input instanceof vscode.TabInputTextDiff ? changeIdOf(tab.input.modified) : null;
}

/** True for tab kinds that the API has a type for. It has none for a multi-diff editor, which is recognized by its label. */
export function isOrdinary({ input }: vscode.Tab): boolean {
  return [vscode.TabInputText, vscode.TabInputTextDiff, vscode.TabInputCustom, vscode.TabInputWebview, vscode.TabInputNotebook].some(
    (kind) => input instanceof kind,
  );
}

export function activeTab(): vscode.Tab | undefined {
  return vscode.window.tabGroups.activeTabGroup.activeTab;
}

export async function closeChangeTabs(changeId: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => changeOfTab(tab) === changeId);
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
}

/** Both sides of a change's diff: the current and the proposed file. A missing side is an empty document. */
export function sidesOf(
  change: { id: string; path: string; kind: "create" | "modify" | "delete" },
  file: vscode.Uri,
): { left: vscode.Uri; right: vscode.Uri } {
  return { left: change.kind === "create" ? emptyUri(file) : file, right: proposedUri(change.id, file) };
}

/** True for an editor with the proposed side of a change, in a diff or a multi-diff editor. */
export function isProposedEditor(editor: vscode.TextEditor | undefined): editor is vscode.TextEditor {
  return editor?.document.uri.scheme === proposedScheme && changeIdOf(editor.document.uri) !== null;
}
