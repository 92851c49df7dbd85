import * as vscode from "vscode";
import { pathOf } from "./workspace-path.ts";

/** "Fix with Lancelot" in the lightbulb of a problem, in files of the workspace only. */
export function registerFixAction(): vscode.Disposable {
  const kinds = [vscode.CodeActionKind.QuickFix];
  return vscode.languages.registerCodeActionsProvider(
    { scheme: "file" },
    {
      provideCodeActions(document, _range, { diagnostics }) {
        const first = diagnostics[0];
        if (first === undefined || pathOf(document.uri) === null) return [];
        const action = new vscode.CodeAction(vscode.l10n.t("Fix with Lancelot"), vscode.CodeActionKind.QuickFix);
        action.diagnostics = [...diagnostics];
        action.command = {
          command: "lancelot.fixProblem",
          title: action.title,
          arguments: [document.uri, first.range],
        };
        return [action];
      },
    },
    { providedCodeActionKinds: kinds },
  );
}
