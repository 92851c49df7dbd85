import * as vscode from "vscode";
import { formatUsdAmount, parseAmount } from "../../agent-server/contract/amounts.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { confirm, showWithAction } from "./confirmation.ts";
import { type Commands, field } from "./commands.ts";

/** Commands for usage and spending caps. */
export function usageCommands(host: AgentHost): Commands {
  const showUsage = async () => {
    await vscode.commands.executeCommand("lancelot.openWarRoom", { tab: "usage" });
  };

  return {
    "lancelot.showUsage": showUsage,

    async "lancelot.setCaps"(argument) {
      const questId = field(argument, "questId");
      const { caps, today } = await host.call("usage.summary", { days: 1 });
      const spent = formatUsd(today.costUsd);
      const questUsd = await askAmount(
        vscode.l10n.t("Spending cap per task (1 of 2)"),
        caps.questUsd,
        vscode.l10n.t("US dollars. Leave empty for no cap."),
      );
      if (questUsd === undefined) return;
      const dayUsd = await askAmount(
        vscode.l10n.t("Spending cap per day (2 of 2)"),
        caps.dayUsd,
        vscode.l10n.t("US dollars; {0} spent today. Leave empty for no cap.", spent),
      );
      if (dayUsd === undefined) return;
      const saved = await host.call("usage.setCaps", { questUsd, dayUsd });
      const message = vscode.l10n.t("Spending caps: {0} per task, {1} per day.", capText(saved.questUsd), capText(saved.dayUsd));
      if (questId === undefined) showWithAction(message, vscode.l10n.t("Show Usage"), showUsage);
      else
        showWithAction(message, vscode.l10n.t("Resume Task"), async () => {
          await host.call("quests.resume", { id: questId });
        });
    },

    async "lancelot.resetUsage"() {
      const { total, since } = await host.call("usage.summary", { days: 366 });
      const answer = await confirm({
        question: vscode.l10n.t("Reset usage?"),
        detail: [
          since === null
            ? vscode.l10n.t("This clears the counted usage.")
            : vscode.l10n.t("This clears the usage counted since {0}.", new Date(since).toLocaleDateString(vscode.env.language)),
          vscode.l10n.t("Calls: {0}, cost: {1}.", total.calls.toLocaleString(vscode.env.language), formatUsd(total.costUsd)),
          vscode.l10n.t("Spending caps start again from zero. Receipts are kept."),
        ].join(" "),
        yes: vscode.l10n.t("Reset"),
      });
      if (answer === "yes") await host.call("usage.reset", {});
    },
  };
}

/** Asks for an amount; null for no cap. @returns undefined when the user cancelled */
async function askAmount(title: string, value: number | null, prompt: string): Promise<number | null | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value: value === null ? "" : String(value),
    ignoreFocusOut: true,
    validateInput: (input) =>
      parseAmount(input) === undefined ? vscode.l10n.t("Enter an amount above 0, such as 2.50, or leave it empty for no cap.") : undefined,
  });
  return text === undefined ? undefined : parseAmount(text);
}

function capText(usd: number | null): string {
  return usd === null ? vscode.l10n.t("no cap") : formatUsd(usd);
}

/** Formats US dollars in the editor's language. */
export function formatUsd(usd: number): string {
  return formatUsdAmount(usd, vscode.env.language);
}
