import * as vscode from "vscode";
import type { Approval, ApprovalDecision } from "../../agent-server/contract/governance.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { codeOf, report } from "../host/report.ts";
import type { Details } from "../review/documents.ts";
import type { Approvals } from "../views/approvals.ts";
import type { ChatView } from "../views/chat-view.ts";
import { isAnnounced } from "./approval-channels.ts";
import { type Commands, field } from "./commands.ts";

/** More than this the editor's dialog cannot show whole. */
const dialogLines = 25;
const dialogChars = 2500;

/** Answering approvals: the exact detail is always seen before something is allowed. */
export function approvalCommands(host: AgentHost, approvals: Approvals, details: Details): Commands {
  const decide = async (approval: Approval, decision: ApprovalDecision, reason?: string) => {
    try {
      await host.call("approvals.decide", { id: approval.id, decision, ...(reason === undefined || reason === "" ? {} : { reason }) });
    } catch (error) {
      // Answered elsewhere (chat, another window) or expired meanwhile.
      if (codeOf(error) !== "conflict" && codeOf(error) !== "not_found") throw error;
      void vscode.window.showInformationMessage(vscode.l10n.t("This approval was answered or expired meanwhile."));
    }
  };
  const deny = async (approval: Approval) => {
    const reason = await vscode.window.showInputBox({
      title: vscode.l10n.t("Deny: {0}", approval.title),
      prompt: vscode.l10n.t("Tell why, or what to do instead (may be empty). The model reads it."),
      ignoreFocusOut: true,
    });
    if (reason !== undefined) await decide(approval, "deny", reason);
  };
  const review = async (approval: Approval) => {
    const whole = approval.detail.length <= dialogChars && approval.detail.split("\n").length <= dialogLines;
    const once = vscode.l10n.t("Allow once");
    const quest = vscode.l10n.t("Allow for this task");
    const no = vscode.l10n.t("Deny…");
    const read = vscode.l10n.t("Read all of it");
    const shown = whole ? approval.detail : `${approval.detail.split("\n").slice(0, dialogLines).join("\n").slice(0, dialogChars)}\n…`;
    const rules = approval.rules.map(({ message }) => `• ${message}`).join("\n");
    const buttons = [...(whole ? [once] : [read]), ...(whole && approval.questId !== null ? [quest] : []), no];
    const answer = await vscode.window.showWarningMessage(
      `${approval.tier} · ${approval.title}`,
      { modal: true, detail: `${shown}\n\n${vscode.l10n.t("Asked because:")}\n${rules}` },
      ...buttons,
    );
    if (answer === once) await decide(approval, "allow_once");
    else if (answer === quest) await decide(approval, "allow_quest");
    else if (answer === no) await deny(approval);
    else if (answer === read) await readThenDecide(approval);
  };
  /** Too long for a dialog: it is read in an editor, the answer is given in a notification over it. */
  const readThenDecide = async (approval: Approval) => {
    await details.show(vscode.l10n.t("Approval"), approval.detail);
    const once = vscode.l10n.t("Allow once");
    const quest = vscode.l10n.t("Allow for this task");
    const no = vscode.l10n.t("Deny…");
    const buttons = [once, ...(approval.questId === null ? [] : [quest]), no];
    const answer = await vscode.window.showWarningMessage(`${approval.tier} · ${approval.title}`, ...buttons);
    if (answer === once) await decide(approval, "allow_once");
    else if (answer === quest) await decide(approval, "allow_quest");
    else if (answer === no) await deny(approval);
  };
  const pick = async (argument: unknown): Promise<Approval | undefined> => {
    const id = field(argument, "approvalId") ?? field(argument, "id");
    if (id !== undefined) return approvals.get(id);
    const pending = approvals.pending();
    if (pending.length === 0) void vscode.window.showInformationMessage(vscode.l10n.t("No approval waits for you."));
    if (pending.length <= 1) return pending[0];
    const picked = await vscode.window.showQuickPick(
      pending.map((approval) => ({ label: approval.title, description: approval.tier, approval })),
      { title: vscode.l10n.t("Approvals") },
    );
    return picked?.approval;
  };
  const on = (run: (approval: Approval) => Promise<void>) => async (argument: unknown) => {
    const approval = await pick(argument);
    if (approval !== undefined) await run(approval);
  };

  return {
    "lancelot.reviewApproval": on(review),
    "lancelot.denyApproval": on(deny),
  };
}

/** Tells the owner of an approval, or a question, when the chat that shows it is not in sight. */
export function announceApprovals(host: AgentHost, approvals: Approvals, chat: ChatView): vscode.Disposable {
  const announce = async (approval: Approval) => {
    const review = vscode.l10n.t("Review…");
    const deny = vscode.l10n.t("Deny…");
    const answer = await vscode.window.showWarningMessage(
      vscode.l10n.t("Lancelot asks ({0}): {1}", approval.tier, approval.title),
      review,
      deny,
    );
    if (approvals.get(approval.id) === undefined) return;
    if (answer === review) await vscode.commands.executeCommand("lancelot.reviewApproval", { approvalId: approval.id });
    if (answer === deny) await vscode.commands.executeCommand("lancelot.denyApproval", { approvalId: approval.id });
  };
  const questions = new Set<string>();
  return vscode.Disposable.from(
    approvals.onAsked((approval) => {
      // The chat card and the tree are there always.
      if (isAnnounced(approval, chat.visible)) void announce(approval).catch(report);
    }),
    host.onEvent((event) => {
      if (event.topic !== "quest") return;
      const { id, title, waitingFor } = event.payload;
      if (waitingFor?.kind !== "answer" || questions.has(waitingFor.id) || chat.visible) return;
      questions.add(waitingFor.id);
      const open = vscode.l10n.t("Answer");
      void vscode.window
        .showInformationMessage(vscode.l10n.t("{0}: {1}", title, waitingFor.question ?? vscode.l10n.t("Lancelot has a question.")), open)
        .then((answer) => (answer === open ? chat.show({ questId: id, focus: true }) : undefined));
    }),
  );
}
