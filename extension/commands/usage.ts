import * as vscode from "vscode";
import { parseAmount, formatUsdAmount } from "../../agent-server/contract/amounts.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { askOwner, sayAndOffer } from "./ask-owner.ts";
import { type Commands, field } from "./commands.ts";

/** What models cost, and what they may cost. */
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
        vscode.l10n.t("Cap for one task (1 of 2)"),
        caps.questUsd,
        vscode.l10n.t("US dollars. Leave it empty for no cap."),
      );
      if (questUsd === undefined) return;
      const dayUsd = await askAmount(
        vscode.l10n.t("Cap for one day (2 of 2)"),
        caps.dayUsd,
        vscode.l10n.t("US dollars; {0} is spent today. Leave it empty for no cap.", spent),
      );
      if (dayUsd === undefined) return;
      const written = await host.call("usage.setCaps", { questUsd, dayUsd });
      const said = vscode.l10n.t("Caps: {0} for a task, {1} for a day.", capText(written.questUsd), capText(written.dayUsd));
      if (questId === undefined) sayAndOffer(said, vscode.l10n.t("Show usage"), showUsage);
      else
        sayAndOffer(said, vscode.l10n.t("Resume the task"), async () => {
          await host.call("quests.resume", { id: questId });
        });
    },

    async "lancelot.resetUsage"() {
      const { total, since } = await host.call("usage.summary", { days: 366 });
      const answer = await askOwner({
        question: vscode.l10n.t("Count usage anew?"),
        detail: vscode.l10n.t(
          "What was counted{0} ({1} calls, {2}) is removed from Usage, and caps count from now on. The receipts of the calls stay.",
          since === null ? "" : ` ${vscode.l10n.t("since {0}", new Date(since).toLocaleDateString(vscode.env.language))}`,
          total.calls.toLocaleString(vscode.env.language),
          formatUsd(total.costUsd),
        ),
        yes: vscode.l10n.t("Count anew"),
      });
      if (answer === "yes") await host.call("usage.reset", {});
    },
  };
}

/** An amount, null for none. @returns undefined when the owner went away */
async function askAmount(title: string, value: number | null, prompt: string): Promise<number | null | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value: value === null ? "" : String(value),
    ignoreFocusOut: true,
    validateInput: (words) =>
      parseAmount(words) === undefined ? vscode.l10n.t("An amount above 0, such as 2.50, or nothing for no cap.") : undefined,
  });
  return text === undefined ? undefined : parseAmount(text);
}

function capText(usd: number | null): string {
  return usd === null ? vscode.l10n.t("no cap") : formatUsd(usd);
}

/** An amount in US dollars, as the editor's language writes it. */
export function formatUsd(usd: number): string {
  return formatUsdAmount(usd, vscode.env.language);
}
