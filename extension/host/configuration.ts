import * as vscode from "vscode";
import type { AgentHost } from "./agent-host-types.ts";
import { showError } from "./show-error.ts";
import { readSettings } from "./settings.ts";

/** Sends changed settings and workspace trust to the host. */
export function registerConfiguration(host: AgentHost): vscode.Disposable {
  const configure = async () => {
    const { posture, approvalTimeoutSeconds, features, maxRunningTasks } = readSettings();
    await host.call("host.configure", { posture, approvalTimeoutSeconds, features, maxRunningTasks });
  };
  const root = () => vscode.workspace.workspaceFolders?.[0]?.uri.toString();
  let served = root();
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeConfiguration((event) => {
      // The host reads these settings only at its start.
      if (event.affectsConfiguration("lancelot.dataFolder") || event.affectsConfiguration("lancelot.logLevel"))
        void host.restart().catch(showError);
      else if (event.affectsConfiguration("lancelot")) void configure().catch(showError);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void host.restart().catch(showError)),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (root() === served) return;
      served = root();
      void host.restart().catch(showError);
    }),
  );
}
