import * as vscode from "vscode";
import type { Quest } from "../../agent-server/contract/chat.ts";
import type { ModelOverride } from "../../agent-server/contract/router.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { type Commands, field } from "./commands.ts";

type Choice = vscode.QuickPickItem & { override?: ModelOverride | null };

/** Sets the lane or model of one task. */
export function taskModelCommands(host: AgentHost): Commands {
  return {
    async "lancelot.chooseTaskModel"(argument) {
      const quest = await pickQuest(host, field(argument, "questId"));
      if (quest === null) return;
      const { items } = await host.call("models.list", {});
      const picked = await vscode.window.showQuickPick(choicesFor(quest, items), {
        title: vscode.l10n.t("Model for the task “{0}”", quest.title),
        placeHolder: vscode.l10n.t("Applies to this task only, starting with its next step"),
        matchOnDescription: true,
      });
      if (picked?.override === undefined) return;
      await host.call("quests.override", { id: quest.id, override: picked.override });
    },
  };
}

function choicesFor(quest: Quest, models: readonly { provider: string; model: string; displayName: string }[]): Choice[] {
  const now = quest.override;
  const lane = (label: string, description: string, name: NonNullable<ModelOverride["lane"]>): Choice => ({
    label: mark(label, now?.lane === name && now.model === undefined),
    description,
    override: { lane: name },
  });
  return [
    {
      label: mark(vscode.l10n.t("Automatic"), now === undefined),
      description: vscode.l10n.t("The router chooses the model for each step"),
      override: null,
    },
    lane(vscode.l10n.t("Fast"), vscode.l10n.t("The active provider's fast model"), "flagship_fast"),
    lane(vscode.l10n.t("Deep"), vscode.l10n.t("The active provider's deep model: stronger, slower and more expensive"), "flagship_deep"),
    lane(vscode.l10n.t("Local"), vscode.l10n.t("Nothing leaves this machine"), "local_utility"),
    { label: vscode.l10n.t("Models"), kind: vscode.QuickPickItemKind.Separator },
    ...models.map(
      ({ provider, model, displayName }): Choice => ({
        label: mark(displayName, now?.model === model && now.provider === provider),
        description: displayName === model ? provider : `${provider} · ${model}`,
        override: { provider, model },
      }),
    ),
  ];
}

function mark(label: string, isChosen: boolean): string {
  return isChosen ? `$(check) ${label}` : label;
}

async function pickQuest(host: AgentHost, id: string | undefined): Promise<Quest | null> {
  if (id !== undefined) return (await host.call("quests.get", { id })).quest;
  const { items } = await host.call("quests.list", { limit: 50 });
  if (items.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There is no task yet. Start a task first, then choose its model."));
    return null;
  }
  const [only, ...others] = items;
  if (only !== undefined && others.length === 0) return only;
  const picked = await vscode.window.showQuickPick(
    items.map((quest) => ({ label: quest.title, description: new Date(quest.updatedAt).toLocaleString(vscode.env.language), quest })),
    { title: vscode.l10n.t("Choose the model for which task?") },
  );
  return picked?.quest ?? null;
}
