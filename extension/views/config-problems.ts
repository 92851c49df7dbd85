import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import { showError } from "../host/show-error.ts";

/** Notifies the user of each file of the data folder's `config/` that cannot be used, once until it changes. */
export function watchConfigProblems(host: AgentHost): vscode.Disposable {
  let shown = new Set<string>();
  return host.onEvent((event) => {
    if (event.topic !== "configuration") return;
    const messages = event.payload.problems.map(({ message }) => message);
    const added = messages.filter((message) => !shown.has(message));
    shown = new Set(messages);
    if (added.length > 0) void warn(added).catch(showError);
  });
}

async function warn(messages: readonly string[]): Promise<void> {
  const doctor = vscode.l10n.t("Run Doctor");
  if ((await vscode.window.showWarningMessage(messages.join(" "), doctor)) === doctor)
    await vscode.commands.executeCommand("lancelot.doctor");
}
