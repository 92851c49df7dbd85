import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";
import { emptyUri, type Details } from "../review/documents.ts";
import { countUndecided, inOneDecision } from "../review/hunks.ts";
import type { Review } from "../review/review.ts";
import { targetOf } from "../review/target.ts";
import { undo } from "../review/undo.ts";
import { uriOf } from "../editor/workspace-path.ts";
import { type Commands, field } from "./commands.ts";

/** Commands that review proposed changes and undo tasks. */
export function reviewCommands(host: AgentHost, review: Review, details: Details): Commands {
  const onTarget = (run: (target: NonNullable<ReturnType<typeof targetOf>>) => Promise<void>) => async (argument: unknown) => {
    const target = targetOf(argument);
    if (target === null) void vscode.window.showInformationMessage(vscode.l10n.t("Open a proposed change first."));
    else await run(target);
  };
  const all = (decision: "accept" | "reject") => async (argument: unknown) => {
    const questId = field(argument, "questId");
    const open = inOneDecision(review.proposals.open(), decision, questId);
    const hunks = open.reduce((sum, change) => sum + countUndecided(change), 0);
    if (hunks === 0) {
      const text =
        review.proposals.open().length === 0
          ? vscode.l10n.t("There are no proposed changes to review.")
          : vscode.l10n.t("Accept the remaining changes one by one, because other programs would run these files.");
      void vscode.window.showInformationMessage(text);
      return;
    }
    const button = decision === "accept" ? vscode.l10n.t("Accept All") : vscode.l10n.t("Reject All");
    const question =
      decision === "accept"
        ? vscode.l10n.t("Accept all proposed changes? Hunks: {0}, files: {1}.", hunks, open.length)
        : vscode.l10n.t("Reject all proposed changes? Hunks: {0}, files: {1}.", hunks, open.length);
    const answer = await vscode.window.showWarningMessage(
      question,
      { modal: true, detail: open.map(({ path }) => path).join("\n") },
      button,
    );
    if (answer === button) await review.decideAll(decision, questId);
  };

  const generated = (decision: "accept" | "reject") => async (argument: unknown) => {
    const waiting = review.proposals.left().filter((left) => left.generated !== null);
    const given = field(argument, "questId") ?? (waiting.length === 1 ? waiting[0]?.questId : undefined);
    const picks = waiting.map(({ questId }) => ({ label: review.proposals.questTitle(questId) ?? vscode.l10n.t("Task"), questId }));
    if (picks.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No task has generated files that are not in your workspace."));
      return;
    }
    const questId =
      given ?? (await vscode.window.showQuickPick(picks, { title: vscode.l10n.t("Generated files of which task?") }))?.questId;
    if (questId !== undefined) await review.proposals.decideGenerated(questId, decision);
  };

  return {
    "lancelot.openChange": onTarget(({ changeId, hunk }) => review.openChange(changeId, hunk)),
    "lancelot.reviewAll": (argument) => review.reviewAll(field(argument, "questId")),
    "lancelot.acceptHunk": onTarget((target) => review.decideHunk(target, "accept")),
    "lancelot.rejectHunk": onTarget((target) => review.decideHunk(target, "reject")),
    "lancelot.acceptFile": onTarget((target) => review.decideFile(target, "accept")),
    "lancelot.rejectFile": onTarget((target) => review.decideFile(target, "reject")),
    "lancelot.acceptAll": all("accept"),
    "lancelot.rejectAll": all("reject"),
    "lancelot.applyGenerated": generated("accept"),
    "lancelot.discardGenerated": generated("reject"),
    "lancelot.nextHunk": () => review.move("next"),
    "lancelot.previousHunk": () => review.move("previous"),
    async "lancelot.undoTask"(argument) {
      const given = field(argument, "questId");
      const { items } = await host.call("quests.list", { limit: 50 });
      const picked =
        given ??
        (
          await vscode.window.showQuickPick(
            items.map((quest) => ({
              label: quest.title,
              description: new Date(quest.updatedAt).toLocaleString(vscode.env.language),
              id: quest.id,
            })),
            { title: vscode.l10n.t("Undo which task?"), matchOnDescription: true },
          )
        )?.id;
      if (picked === undefined) return;
      await undo(host, details, { questId: picked }, items.find(({ id }) => id === picked)?.title ?? vscode.l10n.t("this task"));
    },
    async "lancelot.restoreTo"(argument) {
      if (typeof argument !== "object") return;
      const [questId, receiptId] = [field(argument, "questId"), field(argument, "receiptId")];
      const title = field(argument, "title") ?? vscode.l10n.t("this step");
      const since = receiptId === undefined ? field(argument, "since") : (await host.call("receipts.get", { id: receiptId })).timestamp;
      if (questId !== undefined && since !== undefined) await undo(host, details, { questId, since }, title);
    },
    async "lancelot.undoTouched"(argument) {
      const id = field(argument, "checkpointId");
      const title = field(argument, "title") ?? vscode.l10n.t("this command");
      if (id !== undefined) await undo(host, details, { id }, title);
    },
    async "lancelot.showTouched"(argument) {
      const id = field(argument, "checkpointId");
      const path = typeof argument === "object" ? field(argument, "path") : undefined;
      if (id !== undefined && path !== undefined) await showTouched(host, details, id, path);
    },
  };
}

/** Shows a file before and after a command in the diff editor, or the diff as text when the old text cannot be reconstructed. */
async function showTouched(host: AgentHost, details: Details, id: string, path: string): Promise<void> {
  const { files } = await host.call("checkpoints.diff", { id });
  const found = files.find((file) => file.path === path);
  if (found === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("{0} no longer differs from its state before the command.", path));
    return;
  }
  const { textBefore } = await import("../deferred.ts");
  const uri = uriOf(path);
  const bytes = await vscode.workspace.fs.readFile(uri).then(
    (content) => content,
    () => null,
  );
  const before = textBefore(bytes === null ? "" : new TextDecoder().decode(bytes), found.diff);
  if (before === null) await details.show(`${path.split("/").at(-1) ?? path}.diff`, found.diff);
  else
    await vscode.commands.executeCommand(
      "vscode.diff",
      details.document(path, before),
      bytes === null ? emptyUri(uri) : uri,
      vscode.l10n.t("{0} (before command ↔ now)", path),
      { preview: true },
    );
}
