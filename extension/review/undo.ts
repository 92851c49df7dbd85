import * as vscode from "vscode";
import type { RestoreResult } from "../../agent-server/contract/changes.ts";
import type { AgentHost } from "../host/agent-host.ts";
import type { Details } from "./documents.ts";
import { countDiff } from "./hunks.ts";

const listed = 15;

/**
 * *Undo*: shows what going back would change, restores the files as they were before a task or one of its commands, and offers
 * to take that back.
 * @param before the quest, or the command's checkpoint.
 * @throws LancelotError
 */
export async function undo(
  host: AgentHost,
  details: Details,
  before: { readonly questId: string } | { readonly id: string },
  title: string,
): Promise<void> {
  const { files } = await host.call("checkpoints.diff", before);
  if (files.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("“{0}” has changed nothing that could be undone.", title));
    return;
  }
  const lines = files.slice(0, listed).map(({ path, diff }) => {
    const { added, removed } = countDiff(diff);
    return `${path}  +${added} −${removed}`;
  });
  if (files.length > listed) lines.push(vscode.l10n.t("and {0} more", files.length - listed));
  const yes = "questId" in before ? vscode.l10n.t("Undo this task") : vscode.l10n.t("Undo this command");
  const see = vscode.l10n.t("Show the differences");
  const answer = await vscode.window.showWarningMessage(
    files.length === 1
      ? vscode.l10n.t("Put 1 file back as it was before “{0}”?", title)
      : vscode.l10n.t("Put {0} files back as they were before “{1}”?", files.length, title),
    {
      modal: true,
      detail: `${lines.join("\n")}\n\n${vscode.l10n.t("Edits you made elsewhere in these files since are kept. This can be taken back.")}`,
    },
    yes,
    see,
  );
  if (answer === see) await details.show(`${vscode.l10n.t("Undo")}.diff`, files.map(({ diff }) => diff).join("\n"));
  if (answer === yes) await tellRestored(host, await host.call("checkpoints.restore", before));
}

/** Says what a restore did, names what it left alone, and offers the way back. */
async function tellRestored(host: AgentHost, result: RestoreResult): Promise<void> {
  if (result.conflicts.length > 0) {
    const named = result.conflicts.map(({ path, message }) => `${path}: ${message}`).join(" · ");
    void vscode.window.showWarningMessage(vscode.l10n.t("Left as they are, because they were edited since: {0}", named));
  }
  const { undoCheckpointId, restored } = result;
  const redo = vscode.l10n.t("Redo");
  const answer = await vscode.window.showInformationMessage(
    restored.length === 1
      ? vscode.l10n.t("1 file is as it was before.")
      : vscode.l10n.t("{0} files are as they were before.", restored.length),
    ...(undoCheckpointId === null ? [] : [redo]),
  );
  if (answer === redo && undoCheckpointId !== null)
    await tellRestored(host, await host.call("checkpoints.restore", { id: undoCheckpointId }));
}
