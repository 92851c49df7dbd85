import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host.ts";
import { size } from "./models.ts";

const key = "welcomed";

/** Once, when nothing can answer yet: the walkthrough, and an offer of the local model or of a provider. */
export function registerFirstRun(context: vscode.ExtensionContext, host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  // Tests inside the editor say themselves what is open.
  if (context.extensionMode === vscode.ExtensionMode.Test) return new vscode.Disposable(() => undefined);
  const welcome = async () => {
    if (context.globalState.get<boolean>(key) === true) return;
    const [{ providers }, local] = await Promise.all([host.call("models.list", {}), host.call("models.local", {})]);
    const answers = providers.some((provider) => provider.active && provider.problem === null);
    if (answers || context.globalState.get<boolean>(key) === true) return;
    await context.globalState.update(key, true);
    await vscode.commands.executeCommand("lancelot.openWalkthrough");
    const download = vscode.l10n.t("Download local model");
    const choose = vscode.l10n.t("Choose a provider");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t(
        "Lancelot needs a model. {0} runs on this machine without a key ({1} to download), or choose a provider.",
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
