import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import type { Commands } from "./commands.ts";

/** Commands for the agent host's state, restart and log, and for the settings. */
export function hostCommands(host: AgentHost, log: vscode.LogOutputChannel): Commands {
  return {
    async "lancelot.restartHost"() {
      await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: vscode.l10n.t("Restarting the agent host") },
        () => host.restart(),
      );
    },
    "lancelot.showLog": () => log.show(),
    async "lancelot.status"() {
      const entries: (vscode.QuickPickItem & { command?: string })[] = [
        { label: vscode.l10n.t("$(comment-discussion) Open Chat"), command: "lancelot.openChat" },
        { label: vscode.l10n.t("$(sparkle) Choose Model"), command: "lancelot.chooseModel" },
        { label: vscode.l10n.t("$(shield) Open War Room"), command: "lancelot.openWarRoom" },
        { label: vscode.l10n.t("$(credit-card) Show Usage"), command: "lancelot.showUsage" },
        { label: vscode.l10n.t("$(heart) Show Soul"), command: "lancelot.showSoul" },
        { label: vscode.l10n.t("$(shield) Toggle Safe Mode"), command: "lancelot.toggleSafeMode" },
        { label: vscode.l10n.t("$(debug-pause) Sleep"), command: "lancelot.sleep" },
        { label: vscode.l10n.t("$(debug-start) Wake"), command: "lancelot.wake" },
        { label: vscode.l10n.t("$(pulse) Doctor"), command: "lancelot.doctor" },
        { label: "", kind: vscode.QuickPickItemKind.Separator },
        { label: vscode.l10n.t("$(debug-restart) Restart Agent Host"), command: "lancelot.restartHost" },
        { label: vscode.l10n.t("$(output) Show Log"), command: "lancelot.showLog" },
        { label: vscode.l10n.t("$(gear) Open Settings"), command: "lancelot.openSettings" },
      ];
      const picked = await vscode.window.showQuickPick(entries, {
        title: vscode.l10n.t("Lancelot"),
        placeHolder: host.state.detail || vscode.l10n.t("The agent host is ready."),
      });
      if (picked?.command !== undefined) await vscode.commands.executeCommand(picked.command);
    },
    async "lancelot.openSettings"() {
      await vscode.commands.executeCommand("workbench.action.openSettings", "lancelot");
    },
    async "lancelot.openWalkthrough"() {
      await vscode.commands.executeCommand("workbench.action.openWalkthrough", "lancelot.lancelot#start", false);
    },
  };
}
