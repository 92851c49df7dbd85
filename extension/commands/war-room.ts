import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import type { WarRoom } from "../views/war-room.ts";
import { type Commands, field } from "./commands.ts";

/** Commands that open the War Room and verify the ledger. */
export function warRoomCommands(host: AgentHost, warRoom: WarRoom): Commands {
  return {
    "lancelot.openWarRoom"(argument) {
      const receiptId = field(argument, "receiptId");
      const questId = field(argument, "questId");
      const id = field(argument, "id");
      const tab = field(argument, "tab");
      if (receiptId !== undefined) warRoom.open({ tab: "receipts", receiptId });
      else if (questId !== undefined && id !== undefined) warRoom.open({ tab: "artifacts", artifact: { questId, id } });
      else warRoom.open(tab === undefined ? undefined : { tab });
    },
    async "lancelot.verifyReceipts"() {
      const result = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Verifying receipts"), cancellable: true },
        async (_, token) => {
          const abort = new AbortController();
          token.onCancellationRequested(() => abort.abort());
          return host.call("receipts.verify", {}, abort.signal);
        },
      );
      const show = vscode.l10n.t("Show Receipts");
      const { firstBad } = result;
      const answer =
        firstBad === undefined
          ? await vscode.window.showInformationMessage(
              result.entries === 0
                ? vscode.l10n.t("The ledger has no entries yet.")
                : result.signed === null
                  ? vscode.l10n.t("Ledger verified, no problems. Entries: {0}.", result.entries)
                  : vscode.l10n.t("Ledger verified, no problems. Entries: {0}, signed heads: {1}.", result.entries, result.signed.heads),
              show,
            )
          : await vscode.window.showErrorMessage(
              vscode.l10n.t("Ledger verification failed at entry {0}: {1}", firstBad.seq, firstBad.message),
              show,
            );
      if (answer === show)
        warRoom.open({ tab: "receipts", ...(typeof firstBad?.receiptId === "string" ? { receiptId: firstBad.receiptId } : {}) });
    },
  };
}
