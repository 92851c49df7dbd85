import * as vscode from "vscode";
import type { Quest } from "../../agent-server/contract/chat.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { showError } from "../host/show-error.ts";
import { readSettings } from "../host/settings.ts";

/** Offers *Keep* or *Undo* after a task that applied edits without review (autonomous posture, crusader mode). */
export function registerKeepOrUndo(host: AgentHost): vscode.Disposable {
  /** Running tasks, and whether their edits are applied without review. */
  const running = new Map<string, boolean>();
  const applies = ({ mode, edits }: Quest): boolean =>
    mode === "crusader" || (edits ?? (readSettings().posture === "autonomous" ? "auto" : "review")) === "auto";
  const offer = async (quest: Quest) => {
    const { files } = await host.call("checkpoints.diff", { questId: quest.id });
    if (files.length === 0) return;
    const keep = vscode.l10n.t("Keep");
    const undo = vscode.l10n.t("Undo…");
    const answer = await vscode.window.showInformationMessage(
      files.length === 1
        ? vscode.l10n.t("“{0}” changed 1 file.", quest.title)
        : vscode.l10n.t("“{0}” changed {1} files.", quest.title, files.length),
      keep,
      undo,
    );
    if (answer === undo) await vscode.commands.executeCommand("lancelot.undoTask", { questId: quest.id });
  };
  return host.onEvent((event) => {
    if (event.topic !== "quest" || event.payload.parentId !== undefined) return;
    const quest = event.payload;
    // Crusader mode ends before the run does.
    if (quest.status === "active") running.set(quest.id, running.get(quest.id) === true || applies(quest));
    else if (quest.status !== "waiting") {
      const applied = running.get(quest.id) === true;
      running.delete(quest.id);
      if (applied) void offer(quest).catch(showError);
    }
  });
}
