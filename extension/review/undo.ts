import * as vscode from "vscode";
import type { RestoreResult } from "../../agent-server/contract/changes.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import type { Details } from "./documents.ts";
import { countDiff } from "./hunks.ts";

const listed = 15;

/**
 * *Undo*: shows the changes, restores the files to their state before a task, one of its steps or one of its commands, and offers
 * *Redo*.
 * @param before the quest, the time of a step in it, or the command's checkpoint.
 * @throws LancelotError
 */
export async function undo(
  host: AgentHost,
  details: Details,
  before: { readonly questId: string; readonly since?: string } | { readonly id: string },
  title: string,
): Promise<void> {
  const { files } = await host.call("checkpoints.diff", before);
  const isStep = "since" in before;
  if (files.length === 0) {
    void vscode.window.showInformationMessage(
      isStep
        ? vscode.l10n.t("This task has changed no files since “{0}”.", title)
        : vscode.l10n.t("“{0}” changed nothing that can be undone.", title),
    );
    return;
  }
  const lines = files.slice(0, listed).map(({ path, diff }) => {
    const { added, removed } = countDiff(diff);
    return `${path}  +${added} −${removed}`;
  });
  if (files.length > listed) lines.push(vscode.l10n.t("and {0} more", files.length - listed));
  const yes = isStep ? vscode.l10n.t("Restore Files") : "questId" in before ? vscode.l10n.t("Undo Task") : vscode.l10n.t("Undo Command");
  const see = vscode.l10n.t("Show Diff");
  const kept = vscode.l10n.t("Your later edits elsewhere in these files are kept. You can redo this.");
  const stays = vscode.l10n.t("Commits, generated files and proposals stay as they are.");
  const answer = await vscode.window.showWarningMessage(
    question(files.length, title, isStep),
    { modal: true, detail: `${lines.join("\n")}\n\n${isStep ? `${stays} ` : ""}${kept}` },
    yes,
    see,
  );
  if (answer === see) await details.show(`${vscode.l10n.t("Undo")}.diff`, files.map(({ diff }) => diff).join("\n"));
  if (answer === yes) await showRestored(host, await host.call("checkpoints.restore", before));
}

function question(files: number, title: string, isStep: boolean): string {
  if (isStep)
    return files === 1
      ? vscode.l10n.t("Restore 1 file to its state before “{0}”?", title)
      : vscode.l10n.t("Restore {0} files to their state before “{1}”?", files, title);
  return files === 1
    ? vscode.l10n.t("Undo “{0}”? 1 file will be restored.", title)
    : vscode.l10n.t("Undo “{1}”? {0} files will be restored.", files, title);
}

/** Shows the result of a restore, including files it skipped, and offers *Redo*. */
async function showRestored(host: AgentHost, result: RestoreResult): Promise<void> {
  if (result.conflicts.length > 0) {
    const named = result.conflicts.map(({ path, message }) => `${path}: ${message}`).join(" · ");
    void vscode.window.showWarningMessage(vscode.l10n.t("Not restored, because these files changed since: {0}", named));
  }
  const { undoCheckpointId, restored } = result;
  const redo = vscode.l10n.t("Redo");
  const answer = await vscode.window.showInformationMessage(
    restored.length === 1 ? vscode.l10n.t("1 file restored.") : vscode.l10n.t("{0} files restored.", restored.length),
    ...(undoCheckpointId === null ? [] : [redo]),
  );
  if (answer === redo && undoCheckpointId !== null)
    await showRestored(host, await host.call("checkpoints.restore", { id: undoCheckpointId }));
}
