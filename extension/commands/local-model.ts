import * as vscode from "vscode";
import type { LocalServer } from "../../agent-server/contract/models.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { plain, report } from "../host/report.ts";
import { askOwner } from "./ask-owner.ts";
import type { Commands } from "./commands.ts";

/** The local model in memory and on the disk, and model servers of the owner's own. */
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
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} is loaded.", model.name));
    },

    async "lancelot.unloadLocalModel"() {
      const model = await host.call("models.local.unload", {});
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} gave its memory back. The next request loads it again.", model.name));
    },

    async "lancelot.deleteLocalModel"() {
      const model = await host.call("models.local", {});
      if (model.source === "owner" || model.source === "server") {
        void vscode.window.showInformationMessage(
          vscode.l10n.t("The local model is a file or a server of yours, named in config/models.yaml. Lancelot does not delete it."),
        );
        return;
      }
      if (model.doneBytes === 0 && model.file === null) {
        void vscode.window.showInformationMessage(vscode.l10n.t("No local model is downloaded."));
        return;
      }
      const answer = await askOwner({
        question: vscode.l10n.t("Delete the local model {0}?", model.name),
        detail: vscode.l10n.t(
          "Its file is removed from Lancelot's data folder. It can be downloaded again; until then Lancelot needs another model.",
        ),
        yes: vscode.l10n.t("Delete"),
      });
      if (answer !== "yes") return;
      await host.call("models.local.delete", {});
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} is deleted.", model.name));
    },

    async "lancelot.downloadIntentModel"() {
      const before = await host.call("models.local", {});
      if (before.intent?.status === "ready") {
        void vscode.window.showInformationMessage(vscode.l10n.t("The model that sorts requests is here already."));
        return;
      }
      const options = {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t("Downloading the model that sorts requests"),
        cancellable: true,
      };
      const model = await vscode.window.withProgress(options, (_, token) => {
        token.onCancellationRequested(() => void host.call("models.local.cancel", {}).then(undefined, report));
        return host.call("models.local.download", { only: "intent" });
      });
      const problem = model.intent?.problem ?? null;
      if (problem !== null) throw new Error(problem);
      if (model.intent?.status === "ready")
        void vscode.window.showInformationMessage(vscode.l10n.t("Requests are now sorted by a small model on this machine."));
    },

    async "lancelot.findModelServers"() {
      const { items } = await withProgress(vscode.l10n.t("Looking for model servers on this machine"), () =>
        host.call("models.servers", {}),
      );
      if (items.length === 0) {
        void vscode.window.showInformationMessage(
          vscode.l10n.t(
            "No model server answers on this machine. Start Ollama, llama-server, LM Studio or vLLM, or name the address in config/models.yaml.",
          ),
        );
        return;
      }
      const picked = await vscode.window.showQuickPick(serverChoices(items), {
        title: vscode.l10n.t("Use a model of which server?"),
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

/** Rows of a quick pick: each server with its models. */
export function serverChoices(servers: readonly LocalServer[]): ServerChoice[] {
  return servers.flatMap(({ displayName, url, models, problem }): ServerChoice[] => [
    { label: displayName, kind: vscode.QuickPickItemKind.Separator },
    ...models.map(({ model, contextWindow }) => ({
      label: model,
      description: url,
      ...(contextWindow === null
        ? {}
        : { detail: vscode.l10n.t("{0} tokens of context", contextWindow.toLocaleString(vscode.env.language)) }),
      use: { url, model },
    })),
    ...(problem === null && models.length > 0
      ? []
      : [
          {
            label: `$(warning) ${displayName}`,
            description: url,
            detail: problem === null ? vscode.l10n.t("It offers no model. Load one there.") : plain(problem),
          },
        ]),
  ]);
}
