import * as vscode from "vscode";
import { changeIdOf } from "./documents.ts";
import { countUndecided, isUndecided } from "./hunks.ts";
import type { Proposals } from "./proposals.ts";

/** *Accept hunk · Reject hunk · Accept file · Reject file* over every undecided hunk of the proposed side. */
export function hunkLenses(proposals: Proposals, onDidChangeCodeLenses: vscode.Event<void>): vscode.CodeLensProvider {
  return {
    onDidChangeCodeLenses,
    async provideCodeLenses(document) {
      const id = changeIdOf(document.uri);
      if (id === null) return [];
      const { change, placed } = await proposals.texts(id);
      const several = countUndecided(change) > 1;
      return placed.filter(isUndecided).flatMap((hunk) => {
        const line = Math.min(hunk.start, Math.max(document.lineCount - 1, 0));
        const range = new vscode.Range(line, 0, line, 0);
        const lens = (title: string, command: string, ...args: unknown[]) =>
          new vscode.CodeLens(range, { title, command, arguments: args });
        const target = { changeId: id, hunk: hunk.index };
        const file = { changeId: id };
        const fileLenses = [
          lens(vscode.l10n.t("Accept file"), "lancelot.acceptFile", file),
          lens(vscode.l10n.t("Reject file"), "lancelot.rejectFile", file),
        ];
        if (change.kind !== "modify") return fileLenses;
        const accept = hunk.state === "conflict" ? vscode.l10n.t("$(warning) Conflict: try again") : vscode.l10n.t("$(check) Accept hunk");
        const own = [
          lens(accept, "lancelot.acceptHunk", target),
          lens(vscode.l10n.t("$(close) Reject hunk"), "lancelot.rejectHunk", target),
        ];
        return several ? [...own, ...fileLenses] : own;
      });
    },
  };
}
