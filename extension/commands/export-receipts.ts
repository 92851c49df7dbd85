import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import { showError } from "../host/show-error.ts";
import { dataFolder } from "../host/settings.ts";
import { type Commands, field } from "./commands.ts";

/** Exports receipts to a file in the data folder and offers to open it. */
export function exportCommands(context: vscode.ExtensionContext, host: AgentHost): Commands {
  return {
    async "lancelot.exportReceipts"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const range = Object.fromEntries(
        ["questId", "from", "to"].flatMap((name) => {
          const value = field(given, name);
          return value === undefined ? [] : [[name, value]];
        }),
      );
      const narrowed = Object.keys(range).length > 0;
      const format = await vscode.window.showQuickPick(
        [
          {
            label: vscode.l10n.t("Receipts"),
            detail: narrowed
              ? vscode.l10n.t(
                  "Receipts of the selected task and days, one per line, with the data needed to verify them on another machine.",
                )
              : vscode.l10n.t("All receipts, one per line, with the data needed to verify them on another machine."),
            value: "receipts" as const,
          },
          {
            label: vscode.l10n.t("Whole ledger"),
            detail: vscode.l10n.t("Every ledger entry, with the signed heads."),
            value: "ledger" as const,
          },
        ],
        { title: vscode.l10n.t("Export Receipts") },
      );
      if (format === undefined) return;
      const result = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Exporting receipts"), cancellable: true },
        (_, token) => {
          const abort = new AbortController();
          token.onCancellationRequested(() => abort.abort());
          return host.call("receipts.export", { format: format.value, ...(format.value === "receipts" ? range : {}) }, abort.signal);
        },
      );
      const uri = vscode.Uri.joinPath(vscode.Uri.file(dataFolder(context)), "exports", result.file);
      const open = vscode.l10n.t("Open");
      const reveal = vscode.l10n.t("Show in Folder");
      // In a remote window the file is on the other machine, which has no file manager to open.
      const local = vscode.env.remoteName === undefined && vscode.env.uiKind === vscode.UIKind.Desktop;
      void vscode.window
        .showInformationMessage(
          vscode.l10n.t("Exported to {1}. Entries: {0}, SHA-256: {2}…", result.entries, result.file, result.sha256.slice(0, 12)),
          open,
          ...(local ? [reveal] : []),
        )
        .then(async (answer) => {
          if (answer === open) await vscode.commands.executeCommand("vscode.open", uri);
          if (answer === reveal) await vscode.commands.executeCommand("revealFileInOS", uri);
        })
        .then(undefined, showError);
    },
  };
}
