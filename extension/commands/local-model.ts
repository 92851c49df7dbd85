import * as vscode from "vscode";
import type { LocalServer } from "../../agent-server/contract/models.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { withoutEmphasis, showError } from "../host/show-error.ts";
import { confirm } from "./confirmation.ts";
import type { Commands } from "./commands.ts";

/** Commands that load, unload, download and delete the local model, and find model servers. */
export function localModelCommands(host: AgentHost): Commands {
  const withProgress = <T>(title: string, work: () => Promise<T>): Thenable<T> =>
    vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, work);

  return {
    async "lancelot.loadLocalModel"() {
      const { name, status } = await host.call("models.local", {});
      if (status === "absent" || status === "failed") {
        await vscode.commands.executeCommand("lancelot.downloadLocalModel");
        return;
      }
      const model = await withProgress(vscode.l10n.t("Loading {0}", name), () => host.call("models.local.load", {}));
      if (model.problem !== null) throw new Error([model.problem, model.nextStep ?? ""].join(" ").trim());
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} loaded.", model.name));
    },

    async "lancelot.unloadLocalModel"() {
      const model = await host.call("models.local.unload", {});
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} unloaded. The next request loads it again.", model.name));
    },

    async "lancelot.deleteLocalModel"() {
      const model = await host.call("models.local", {});
      if (model.source === "owner" || model.source === "server") {
        void vscode.window.showInformationMessage(
          vscode.l10n.t("The local model is your own file or server from config/models.yaml. Lancelot does not delete it."),
        );
        return;
      }
      if (model.doneBytes === 0 && model.file === null) {
        void vscode.window.showInformationMessage(vscode.l10n.t("No local model is downloaded."));
        return;
      }
      const answer = await confirm({
        question: vscode.l10n.t("Delete the local model {0}?", model.name),
        detail: vscode.l10n.t(
          "This deletes its file from Lancelot's data folder. Until you download it again, Lancelot needs another model.",
        ),
        yes: vscode.l10n.t("Delete"),
      });
      if (answer !== "yes") return;
      await host.call("models.local.delete", {});
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} deleted.", model.name));
    },

    async "lancelot.downloadIntentModel"() {
      const before = await host.call("models.local", {});
      if (before.intent?.status === "ready") {
        void vscode.window.showInformationMessage(vscode.l10n.t("The intent classifier is already installed."));
        return;
      }
      const options = {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t("Downloading the intent classifier"),
        cancellable: true,
      };
      const model = await vscode.window.withProgress(options, (_, token) => {
        token.onCancellationRequested(() => void host.call("models.local.cancel", {}).then(undefined, showError));
        return host.call("models.local.download", { only: "intent" });
      });
      const problem = model.intent?.problem ?? null;
      if (problem !== null) throw new Error(problem);
      if (model.intent?.status === "ready")
        void vscode.window.showInformationMessage(vscode.l10n.t("Intent classifier installed. It runs on this machine."));
    },

    async "lancelot.findModelServers"() {
      const { items } = await withProgress(vscode.l10n.t("Searching for model servers on this machine"), () =>
        host.call("models.servers", {}),
      );
      if (items.length === 0) {
        void vscode.window.showInformationMessage(
          vscode.l10n.t(
            "No model server was found on this machine. Start Ollama, llama-server, LM Studio or vLLM, or add its address to config/models.yaml.",
          ),
        );
        return;
      }
      const picked = await vscode.window.showQuickPick(serverChoices(items), {
        title: vscode.l10n.t("Use a model from which server?"),
        matchOnDescription: true,
        matchOnDetail: true,
      });
      if (picked?.use === undefined) return;
      const { provider, model } = await host.call("models.useServer", picked.use);
      void vscode.window.showInformationMessage(vscode.l10n.t("Lancelot now uses {0} ({1}).", model, provider));
    },
  };
}

type ServerChoice = vscode.QuickPickItem & { use?: { url: string; model: string } };

/** Quick pick rows: each server, followed by its models. */
export function serverChoices(servers: readonly LocalServer[]): ServerChoice[] {
  return servers.flatMap(({ displayName, url, models, problem }): ServerChoice[] => [
    { label: displayName, kind: vscode.QuickPickItemKind.Separator },
    ...models.map(({ model, contextWindow }) => ({
      label: model,
      description: url,
      ...(contextWindow === null
        ? {}
        : { detail: vscode.l10n.t("Context window: {0} tokens", contextWindow.toLocaleString(vscode.env.language)) }),
      use: { url, model },
    })),
    ...(problem === null && models.length > 0
      ? []
      : [
          {
            label: `$(warning) ${displayName}`,
            description: url,
            detail:
              problem === null ? vscode.l10n.t("The server offers no model. Load one in the server first.") : withoutEmphasis(problem),
          },
        ]),
  ]);
}
