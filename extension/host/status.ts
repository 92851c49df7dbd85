import * as vscode from "vscode";
import type { AgentHost } from "./agent-host.ts";
import { formatUsd } from "../commands/usage.ts";
import { report } from "./report.ts";

/** The status bar item: how the host is, which model answers, and whether safe mode or a crusade is on. A click opens the actions. */
export function registerStatus(host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("lancelot.status", vscode.StatusBarAlignment.Right, 100);
  item.name = vscode.l10n.t("Lancelot");
  item.command = "lancelot.status";
  let model: string | null = null;
  let safeMode = false;
  /** What models cost today, in words; null before it is known. */
  let spending: string | null = null;
  /** Tasks that run in crusader mode. */
  const crusades = new Set<string>();

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
    const modes =
      state === "ready"
        ? [...(safeMode ? [vscode.l10n.t("safe mode")] : []), ...(crusades.size > 0 ? [vscode.l10n.t("crusader mode")] : [])]
        : [];
    item.text = [`${icon} ${words}`, ...(modes.length > 0 ? [`${safeMode ? "$(lock)" : "$(flame)"} ${modes.join(", ")}`] : [])].join("  ");
    const standing = [
      ...(safeMode ? [vscode.l10n.t("Safe mode: only what works on this machine is left.")] : []),
      ...(crusades.size > 0 ? [vscode.l10n.t("Crusader mode: edits of the running task are applied after a checkpoint.")] : []),
    ];
    const tooltip = state === "ready" ? vscode.l10n.t("Lancelot is ready. Active model: {0}", model ?? vscode.l10n.t("none")) : detail;
    item.tooltip = state === "ready" ? [tooltip, ...standing, ...(spending === null ? [] : [spending])].join("\n") : tooltip;
    const said = detail === "" ? vscode.l10n.t("Lancelot, {0}", words) : detail;
    item.accessibilityInformation = { label: [said, ...modes].join(", "), role: "button" };
    item.backgroundColor =
      state === "failed"
        ? new vscode.ThemeColor("statusBarItem.errorBackground")
        : modes.length > 0
          ? new vscode.ThemeColor("statusBarItem.warningBackground")
          : undefined;
    void vscode.commands.executeCommand("setContext", "lancelot.hostState", state);
  };
  const readModel = async () => {
    const { items, providers } = await host.call("models.list", {});
    const active = items.find((entry) => entry.active);
    const provider = providers.find((entry) => entry.active && entry.problem === null);
    model = active !== undefined && provider !== undefined ? active.displayName : (provider?.displayName ?? null);
    show();
  };

  const readModes = async () => {
    safeMode = (await host.call("host.info", {})).safeMode;
    crusades.clear();
    for (const { id, mode } of (await host.call("quests.list", { limit: 50 })).items) if (mode === "crusader") crusades.add(id);
    show();
  };

  const readSpending = async () => {
    const { today, caps } = await host.call("usage.summary", { days: 1 });
    const cost = formatUsd(today.costUsd);
    spending =
      caps.dayUsd === null ? vscode.l10n.t("Today: {0}, no cap", cost) : vscode.l10n.t("Today: {0} of {1}", cost, formatUsd(caps.dayUsd));
    if (today.unpricedCalls > 0) spending += ` ${vscode.l10n.t("(without calls to models that have no price)")}`;
    show();
  };

  const unread = (error: unknown) =>
    log.warn(`the state for the status bar was not read: ${error instanceof Error ? error.message : String(error)}`);

  show();
  item.show();
  return vscode.Disposable.from(
    item,
    host.onState(({ state }) => {
      show();
      if (state === "ready") {
        void readModel().catch(unread);
        void readModes().catch(unread);
        void readSpending().catch(unread);
      }
      if (state === "failed") report(new Error(host.state.detail));
    }),
    host.onEvent((event) => {
      if (event.topic === "models") void readModel().catch(unread);
      if (event.topic === "usage") void readSpending().catch(unread);
      if (event.topic === "flags") void readModes().catch(unread);
      if (event.topic !== "quest" && event.topic !== "questDeleted") return;
      const before = crusades.size;
      if (event.topic === "quest" && event.payload.mode === "crusader") crusades.add(event.payload.id);
      else crusades.delete(event.payload.id);
      if (before !== crusades.size) show();
    }),
  );
}
