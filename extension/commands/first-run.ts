import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import { size } from "./models.ts";

const key = "welcomed";

/** On the first start without a usable model: opens the walkthrough and offers the local model or a provider. */
export function registerFirstRun(context: vscode.ExtensionContext, host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  // Tests decide for themselves which editors are open.
  if (context.extensionMode === vscode.ExtensionMode.Test) return new vscode.Disposable(() => undefined);
  const welcome = async () => {
    if (context.globalState.get<boolean>(key) === true) return;
    const [{ providers }, local] = await Promise.all([host.call("models.list", {}), host.call("models.local", {})]);
    const answers = providers.some((provider) => provider.active && provider.problem === null);
    if (answers || context.globalState.get<boolean>(key) === true) return;
    await context.globalState.update(key, true);
    await vscode.commands.executeCommand("lancelot.openWalkthrough");
    const download = vscode.l10n.t("Download Local Model");
    const choose = vscode.l10n.t("Choose a Provider");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t(
        "Lancelot needs a model. Download {0} ({1}), which runs on this machine without an API key, or choose a provider.",
        local.name,
        size(local),
      ),
      download,
      choose,
    );
    if (answer === download) await vscode.commands.executeCommand("lancelot.downloadLocalModel");
    if (answer === choose) await vscode.commands.executeCommand("lancelot.chooseModel");
  };
  return host.onState(({ state }) => {
    if (state === "ready")
      void welcome().catch((error: unknown) => log.warn(`first run: ${error instanceof Error ? error.message : String(error)}`));
  });
}
