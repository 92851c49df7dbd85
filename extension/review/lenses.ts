import * as vscode from "vscode";
import { changeIdOf } from "./documents.ts";
import { countUndecided, isUndecided } from "./hunks.ts";
import type { Proposals } from "./proposals.ts";

/** Code lenses that accept or reject each undecided hunk, and the file. */
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
          lens(vscode.l10n.t("Accept File"), "lancelot.acceptFile", file),
          lens(vscode.l10n.t("Reject File"), "lancelot.rejectFile", file),
        ];
        if (change.kind !== "modify") return fileLenses;
        const accept = hunk.state === "conflict" ? vscode.l10n.t("$(warning) Conflict: Try Again") : vscode.l10n.t("$(check) Accept Hunk");
        const own = [
          lens(accept, "lancelot.acceptHunk", target),
          lens(vscode.l10n.t("$(close) Reject Hunk"), "lancelot.rejectHunk", target),
        ];
        return several ? [...own, ...fileLenses] : own;
      });
    },
  };
}
