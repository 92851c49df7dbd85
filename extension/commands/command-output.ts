import * as vscode from "vscode";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import { candidatePaths } from "../editor/output-path.ts";
import { canBeTyped, safeForTerminal } from "../editor/terminal-text.ts";
import { uriOf } from "../editor/workspace-path.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { type Commands, field } from "./commands.ts";

/** Longest terminal name, in characters of the command. */
const longestName = 40;
/** How long (ms) to wait for a shell's prompt. */
const promptMs = 5000;

/** Resolves when the shell accepts input, because earlier input shows up twice. Without shell integration it resolves after `promptMs`. */
async function prompted(terminal: vscode.Terminal): Promise<void> {
  if (terminal.shellIntegration !== undefined) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, promptMs);
  const listener = vscode.window.onDidChangeTerminalShellIntegration((event) => {
    if (event.terminal === terminal) resolve();
  });
  await promise;
  clearTimeout(timer);
  listener.dispose();
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    return (await vscode.workspace.fs.stat(uri)).type !== vscode.FileType.Directory;
  } catch {
    return false;
  }
}

/** Commands that open links in a command's output, the output itself in a terminal, or a port on which a command listens. */
export function commandOutputCommands(host: AgentHost): Commands {
  const partOf = async (questId: string, callId: string): Promise<ToolPart | undefined> => {
    const { messages } = await host.call("quests.get", { id: questId });
    return messages.flatMap(({ parts }) => parts).find((part): part is ToolPart => part.type === "tool" && part.callId === callId);
  };

  return {
    async "lancelot.openLink"(argument) {
      const url = field(argument, "url");
      // VS Code itself asks before it opens an untrusted domain.
      if (url !== undefined && /^https?:\/\//.test(url)) await vscode.env.openExternal(vscode.Uri.parse(url, true));
    },
    async "lancelot.openAt"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const path = field(given, "path");
      if (path === undefined) return;
      const line = Math.max(0, Number(field(given, "line") ?? 1) - 1) || 0;
      const column = Math.max(0, Number(field(given, "column") ?? 1) - 1) || 0;
      const selection = new vscode.Range(line, column, line, column);
      for (const place of candidatePaths(path, field(given, "cwd") ?? ".", uriOf(".").path)) {
        const uri = uriOf(place);
        if (!(await exists(uri))) continue;
        await vscode.commands.executeCommand("vscode.open", uri, { preview: true, selection });
        return;
      }
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} was not found in this workspace.", path));
    },
    async "lancelot.previewPort"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const id = field(given, "id");
      const port = Number(field(given, "port"));
      if (id === undefined || !Number.isInteger(port)) return;
      const { url } = await host.call("background.preview", { id, port });
      // In a remote window, the editor forwards the port.
      const uri = await vscode.env.asExternalUri(vscode.Uri.parse(url, true));
      try {
        await vscode.commands.executeCommand("simpleBrowser.api.open", uri, { viewColumn: vscode.ViewColumn.Beside });
      } catch {
        // The editor has no browser of its own.
        await vscode.env.openExternal(uri);
      }
    },
    async "lancelot.openInTerminal"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const questId = field(given, "questId");
      const callId = field(given, "callId");
      if (questId === undefined || callId === undefined) return;
      const part = await partOf(questId, callId);
      if (part?.command === undefined) throw new Error(vscode.l10n.t("This command is no longer part of the task."));
      const { text, cwd } = part.command;
      const terminal = vscode.window.createTerminal({
        name: vscode.l10n.t("Lancelot: {0}", text.length > longestName ? `${text.slice(0, longestName)}…` : text),
        iconPath: new vscode.ThemeIcon("shield"),
        cwd: uriOf(cwd),
        message: safeForTerminal(part.live?.text ?? part.output ?? ""),
      });
      terminal.show();
      if (canBeTyped(text)) {
        await prompted(terminal);
        terminal.sendText(text, false);
        return;
      }
      await vscode.env.clipboard.writeText(text);
      void vscode.window.showInformationMessage(
        vscode.l10n.t(
          "This command has several lines or control characters, so it was copied to the clipboard. Read it before you paste it.",
        ),
      );
    },
  };
}
