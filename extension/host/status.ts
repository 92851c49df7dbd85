import * as vscode from "vscode";
import type { AgentHost } from "./agent-host.ts";
import { report } from "./report.ts";

/** The status bar item: how the host is, and which model answers. A click opens the actions. */
export function registerStatus(host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("lancelot.status", vscode.StatusBarAlignment.Right, 100);
  item.name = vscode.l10n.t("Lancelot");
  item.command = "lancelot.status";
  let model: string | null = null;

  const show = () => {
    const { state, detail } = host.state;
    const icon = {
      starting: "$(loading~spin)",
      restarting: "$(loading~spin)",
      ready: "$(shield)",
      stopped: "$(circle-slash)",
      failed: "$(error)",
    }[state];
    const words = {
      starting: vscode.l10n.t("Lancelot: starting"),
      restarting: vscode.l10n.t("Lancelot: restarting"),
      ready: model ?? vscode.l10n.t("Lancelot: no model"),
      stopped: vscode.l10n.t("Lancelot: stopped"),
      failed: vscode.l10n.t("Lancelot: failed"),
    }[state];
    item.text = `${icon} ${words}`;
    item.tooltip = state === "ready" ? vscode.l10n.t("Lancelot is ready. Active model: {0}", model ?? vscode.l10n.t("none")) : detail;
    item.accessibilityInformation = { label: detail === "" ? vscode.l10n.t("Lancelot, {0}", words) : detail, role: "button" };
    item.backgroundColor = state === "failed" ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    void vscode.commands.executeCommand("setContext", "lancelot.hostState", state);
  };
  const readModel = async () => {
    const { items, providers } = await host.call("models.list", {});
    const active = items.find((entry) => entry.active);
    const provider = providers.find((entry) => entry.active && entry.problem === null);
    model = active !== undefined && provider !== undefined ? active.displayName : (provider?.displayName ?? null);
    show();
  };

  const unread = (error: unknown) => log.warn(`the active model was not read: ${error instanceof Error ? error.message : String(error)}`);

  show();
  item.show();
  return vscode.Disposable.from(
    item,
    host.onState(({ state }) => {
      show();
      if (state === "ready") void readModel().catch(unread);
      if (state === "failed") report(new Error(host.state.detail));
    }),
    host.onEvent((event) => {
      if (event.topic === "models") void readModel().catch(unread);
    }),
  );
}
