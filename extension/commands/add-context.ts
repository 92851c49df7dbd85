import * as vscode from "vscode";
import { pathOf } from "../editor/workspace-path.ts";
import type { ChatView } from "../views/chat-view.ts";
import type { Commands } from "./commands.ts";

/** Files and folders that one command adds. */
const maxPaths = 20;
/** Characters of terminal output. */
const maxOutput = 20_000;

/** Commands that add files of the explorer and output of a terminal to the chat. */
export function addContextCommands(chat: ChatView): Commands {
  return {
    async "lancelot.addFile"(clicked, selected) {
      const uris = Array.isArray(selected) && selected.length > 0 ? selected : [clicked ?? vscode.window.activeTextEditor?.document.uri];
      const paths = uris.flatMap((uri) => (uri instanceof vscode.Uri ? [pathOf(uri)] : [])).filter((path) => path !== null && path !== "");
      if (paths.length === 0) {
        void vscode.window.showInformationMessage(vscode.l10n.t("Select a file or folder in the workspace first."));
        return;
      }
      const mentions = paths.slice(0, maxPaths).map((path) => `@${path}`);
      await chat.show({ compose: `${mentions.join(" ")} `, focus: true });
    },

    async "lancelot.addTerminalSelection"() {
      const text = await terminalSelection();
      if (text.trim() === "") {
        void vscode.window.showInformationMessage(vscode.l10n.t("Select text in the terminal first."));
        return;
      }
      // The end of an output says how it went.
      const shown = text.length <= maxOutput ? text : `…\n${text.slice(-maxOutput)}`;
      const fence = "`".repeat(Math.max(3, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length + 1)));
      await chat.show({ compose: `${vscode.l10n.t("Terminal output:")}\n${fence}\n${shown.trimEnd()}\n${fence}\n`, focus: true });
    },
  };
}

/** The editor offers a terminal's selection through the clipboard alone, which keeps its text. */
async function terminalSelection(): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  await vscode.env.clipboard.writeText("");
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    return await vscode.env.clipboard.readText();
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
}
