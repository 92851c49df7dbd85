import * as vscode from "vscode";
import type { AgentHost } from "./agent-host-types.ts";
import { showError } from "./show-error.ts";
import { readSettings } from "./settings.ts";

/** Sends changed settings and workspace trust to the host. */
export function registerConfiguration(host: AgentHost): vscode.Disposable {
  const configure = async () => {
    await host.restartIfChanged();
    const { posture, approvalTimeoutSeconds, features, maxRunningTasks } = readSettings();
    await host.call("host.configure", { posture, approvalTimeoutSeconds, features, maxRunningTasks });
  };
  const restart = () => void host.restartIfChanged().catch(showError);
  return vscode.Disposable.from(
    // Such an event may come without another value: the user's settings and the machine's are read one after the other.
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("lancelot")) void configure().catch(showError);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeWorkspaceFolders(restart),
  );
}
