import * as vscode from "vscode";
import type { AgentHost } from "./agent-host.ts";
import { report } from "./report.ts";
import { readSettings } from "./settings.ts";

/** Tells the host what the owner's settings and the workspace's trust decide, as they change. */
export function registerConfiguration(host: AgentHost): vscode.Disposable {
  const configure = async () => {
    const { posture, approvalTimeoutSeconds, features } = readSettings();
    await host.call("host.configure", { posture, approvalTimeoutSeconds, features });
  };
  const root = () => vscode.workspace.workspaceFolders?.[0]?.uri.toString();
  let served = root();
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeConfiguration((event) => {
      // These are part of the host's start.
      if (event.affectsConfiguration("lancelot.dataFolder") || event.affectsConfiguration("lancelot.logLevel"))
        void host.restart().catch(report);
      else if (event.affectsConfiguration("lancelot")) void configure().catch(report);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void host.restart().catch(report)),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (root() === served) return;
      served = root();
      void host.restart().catch(report);
    }),
  );
}
