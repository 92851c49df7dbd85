import * as vscode from "vscode";
import type { AgentHost } from "./agent-host-types.ts";
import { formatUsd } from "../commands/usage.ts";
import { showError } from "./show-error.ts";

/** The status bar item: the host's state, the active model, safe mode and crusader mode. A click opens the actions. */
export function registerStatus(host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("lancelot.status", vscode.StatusBarAlignment.Right, 100);
  item.name = vscode.l10n.t("Lancelot");
  item.command = "lancelot.status";
  let model: string | null = null;
  let safeMode = false;
  /** Why Lancelot sleeps; null while it is awake. */
  let sleeping: string | null = null;
  /** Today's model costs as text; null before they are known. */
  let spending: string | null = null;
  /** Tasks that run in crusader mode. */
  const crusaderQuests = new Set<string>();

  /** The configuration files that the host does not use, each with its problem. */
  let brokenFiles: readonly string[] = [];

  const show = () => {
    const { state, detail } = host.state;
    const icon = {
      starting: "$(loading~spin)",
      restarting: "$(loading~spin)",
      ready: "$(shield)",
      stopped: "$(circle-slash)",
      failed: "$(error)",
    }[state];
    const label = {
      starting: vscode.l10n.t("Lancelot: starting"),
      restarting: vscode.l10n.t("Lancelot: restarting"),
      ready: model ?? vscode.l10n.t("Lancelot: no model"),
      stopped: vscode.l10n.t("Lancelot: stopped"),
      failed: vscode.l10n.t("Lancelot: failed"),
    }[state];
    const modes =
      state === "ready"
        ? [
            ...(sleeping === null ? [] : [vscode.l10n.t("asleep")]),
            ...(safeMode ? [vscode.l10n.t("safe mode")] : []),
            ...(crusaderQuests.size > 0 ? [vscode.l10n.t("crusader mode")] : []),
          ]
        : [];
    const broken = state === "ready" && brokenFiles.length > 0;
    item.text = [
      `${icon} ${label}`,
      ...(modes.length > 0 ? [`${sleeping !== null ? "$(debug-pause)" : safeMode ? "$(lock)" : "$(flame)"} ${modes.join(", ")}`] : []),
      ...(broken ? [`$(warning) ${vscode.l10n.t("check settings")}`] : []),
    ].join("  ");
    const modeDetails = [
      ...(sleeping === null
        ? []
        : [vscode.l10n.t("Asleep: no task starts until you run “Lancelot: Wake”."), ...(sleeping === "" ? [] : [sleeping])]),
      ...(safeMode ? [vscode.l10n.t("Safe mode: network access, connectors, deployment and push are off.")] : []),
      ...(crusaderQuests.size > 0
        ? [vscode.l10n.t("Crusader mode: edits of the running task are applied without review, after a checkpoint.")]
        : []),
    ];
    const tooltip = state === "ready" ? vscode.l10n.t("Lancelot is ready. Active model: {0}", model ?? vscode.l10n.t("none")) : detail;
    item.tooltip =
      state === "ready" ? [tooltip, ...brokenFiles, ...modeDetails, ...(spending === null ? [] : [spending])].join("\n") : tooltip;
    const spoken = detail === "" ? vscode.l10n.t("Lancelot, {0}", label) : detail;
    item.accessibilityInformation = { label: [spoken, ...modes, ...(broken ? brokenFiles : [])].join(", "), role: "button" };
    item.backgroundColor =
      state === "failed"
        ? new vscode.ThemeColor("statusBarItem.errorBackground")
        : modes.length > 0 || broken
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
    const info = await host.call("host.info", {});
    safeMode = info.safeMode;
    sleeping = info.sleeping?.reason ?? null;
    crusaderQuests.clear();
    for (const { id, mode } of (await host.call("quests.list", { limit: 50 })).items) if (mode === "crusader") crusaderQuests.add(id);
    show();
  };

  const readSpending = async () => {
    const { today, caps } = await host.call("usage.summary", { days: 1 });
    const cost = formatUsd(today.costUsd);
    spending =
      caps.dayUsd === null ? vscode.l10n.t("Today: {0}, no cap", cost) : vscode.l10n.t("Today: {0} of {1}", cost, formatUsd(caps.dayUsd));
    if (today.unpricedCalls > 0) spending += ` ${vscode.l10n.t("(excludes calls to models without a price)")}`;
    show();
  };

  const readBrokenFiles = async () => {
    brokenFiles = (await host.call("health.ready", {})).configProblems.map(({ message }) => message);
    show();
  };

  const logReadError = (error: unknown) =>
    log.warn(`could not read the state for the status bar: ${error instanceof Error ? error.message : String(error)}`);

  show();
  item.show();
  return vscode.Disposable.from(
    item,
    host.onState(({ state }) => {
      show();
      if (state === "ready") {
        void readModel().catch(logReadError);
        void readModes().catch(logReadError);
        void readSpending().catch(logReadError);
        void readBrokenFiles().catch(logReadError);
      }
      if (state === "failed") showError(new Error(host.state.detail));
    }),
    host.onEvent((event) => {
      if (event.topic === "models") void readModel().catch(logReadError);
      if (event.topic === "usage") void readSpending().catch(logReadError);
      if (event.topic === "flags") void readModes().catch(logReadError);
      if (event.topic === "configuration") {
        brokenFiles = event.payload.problems.map(({ message }) => message);
        show();
      }
      if (event.topic !== "quest" && event.topic !== "questDeleted") return;
      const before = crusaderQuests.size;
      if (event.topic === "quest" && event.payload.mode === "crusader") crusaderQuests.add(event.payload.id);
      else crusaderQuests.delete(event.payload.id);
      if (before !== crusaderQuests.size) show();
    }),
  );
}
