import * as vscode from "vscode";
import { changeIdOf, follows } from "./documents.ts";
import type { PlacedHunk } from "./hunks.ts";
import type { Proposals } from "./proposals.ts";

/** Gutter icons that show the state of each hunk by shape as well as color. */
export function createMarks(extensionUri: vscode.Uri, proposals: Proposals): vscode.Disposable & { refresh(): void } {
  const type = (icon: string, color: string) =>
    vscode.window.createTextEditorDecorationType({
      gutterIconPath: vscode.Uri.joinPath(extensionUri, "media", "icons", icon),
      gutterIconSize: "contain",
      overviewRulerColor: new vscode.ThemeColor(color),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      isWholeLine: true,
    });
  const types: Record<PlacedHunk["state"], vscode.TextEditorDecorationType> = {
    pending: type("hunk-pending.svg", "charts.yellow"),
    conflict: type("hunk-conflict.svg", "charts.red"),
    accepted: type("hunk-accepted.svg", "charts.green"),
    rejected: type("hunk-rejected.svg", "charts.foreground"),
  };
  const labels: Record<PlacedHunk["state"], string> = {
    pending: vscode.l10n.t("Undecided"),
    conflict: vscode.l10n.t("Conflict: these lines changed after the edit was proposed"),
    accepted: vscode.l10n.t("Accepted"),
    rejected: vscode.l10n.t("Rejected"),
  };
  const states = Object.keys(types) as PlacedHunk["state"][];

  const refresh = () => {
    for (const editor of vscode.window.visibleTextEditors) {
      const id = changeIdOf(editor.document.uri);
      if (id === null) continue;
      const known = proposals.knownTexts(id);
      if (known === undefined || !follows(editor.document, known.proposed)) continue;
      for (const state of states) {
        const options = known.placed
          .filter((hunk) => hunk.state === state)
          .map((hunk) => ({ range: new vscode.Range(hunk.start, 0, hunk.start, 0), hoverMessage: labels[state] }));
        editor.setDecorations(types[state], options);
      }
    }
  };
  return { refresh, dispose: () => vscode.Disposable.from(...Object.values(types)).dispose() };
}
