import * as vscode from "vscode";
import { changeIdOf } from "./documents.ts";
import { hunkAt } from "./hunks.ts";
import type { Proposals } from "./proposals.ts";
import { activeTab, changeOfTab, isProposedEditor } from "./tabs.ts";

/** The target of a review command: a change, and optionally one hunk. Code lenses and tree items pass it. */
export interface Target {
  changeId: string;
  hunk?: number;
}

/**
 * Reads a command's argument: code lenses and tree items pass a target, title buttons a document URI. A key binding passes nothing
 * and means the change in the active editor.
 */
export function targetOf(argument: unknown): Target | null {
  if (argument instanceof vscode.Uri) {
    const id = changeIdOf(argument);
    if (id !== null) return { changeId: id };
  } else if (typeof argument === "object" && argument !== null && "changeId" in argument && typeof argument.changeId === "string") {
    return "hunk" in argument && typeof argument.hunk === "number"
      ? { changeId: argument.changeId, hunk: argument.hunk }
      : { changeId: argument.changeId };
  }
  const id = activeChange();
  return id === null ? null : { changeId: id };
}

/** The change in the active diff editor. */
export function activeChange(): string | null {
  const editor = vscode.window.activeTextEditor;
  if (isProposedEditor(editor)) return changeIdOf(editor.document.uri);
  return changeOfTab(activeTab());
}

/** The editor that shows the proposed side of a change. */
export function proposedEditor(changeId: string): vscode.TextEditor | undefined {
  const shows = (editor: vscode.TextEditor) => changeIdOf(editor.document.uri) === changeId;
  const active = vscode.window.activeTextEditor;
  return active !== undefined && shows(active) ? active : vscode.window.visibleTextEditors.find(shows);
}

/** The undecided hunk at or nearest to the cursor, for commands without a hunk. */
export async function hunkAtCursor(proposals: Proposals, changeId: string): Promise<number | null> {
  const { placed } = await proposals.texts(changeId);
  return hunkAt(placed, proposedEditor(changeId)?.selection.active.line ?? 0)?.index ?? null;
}
