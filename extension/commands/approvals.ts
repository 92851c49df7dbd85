import * as vscode from "vscode";
import type { Approval, ApprovalDecision, ApprovalScope } from "../../agent-server/contract/governance.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { codeOf, showError } from "../host/show-error.ts";
import type { Details } from "../review/documents.ts";
import type { Approvals } from "../views/approvals.ts";
import type { ChatView } from "../views/chat-view.ts";
import { isAnnounced } from "./approval-channels.ts";
import { type Commands, field } from "./commands.ts";

/** Longer details do not fit into a modal dialog. */
const dialogLines = 25;
const dialogChars = 2500;

/** Commands that answer approvals. The user always sees the full detail before the buttons that allow it. */
export function approvalCommands(host: AgentHost, approvals: Approvals, details: Details): Commands {
  const decide = async (approval: Approval, decision: ApprovalDecision, more: { reason?: string; scope?: number } = {}) => {
    try {
      await host.call("approvals.decide", { id: approval.id, decision, ...more });
    } catch (error) {
      // The chat or another window answered it, or it expired.
      if (codeOf(error) !== "conflict" && codeOf(error) !== "not_found") throw error;
      void vscode.window.showInformationMessage(vscode.l10n.t("This approval was already answered or has expired."));
    }
  };
  const deny = async (approval: Approval) => {
    const reason = await vscode.window.showInputBox({
      title: vscode.l10n.t("Deny: {0}", approval.title),
      prompt: vscode.l10n.t("Tell Lancelot why, or what to do instead (optional)."),
      ignoreFocusOut: true,
    });
    if (reason !== undefined) await decide(approval, "deny", reason === "" ? {} : { reason });
  };
  /** Shows what the answer would cover; nothing is saved before one is picked. */
  const allowInWorkspace = async (approval: Approval) => {
    const items = approval.scopes.map((scope, index) => ({ label: scope.pattern, detail: describeScope(scope), index }));
    const picked = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t("Always Allow in This Workspace"),
      placeHolder: vscode.l10n.t("Pick exactly what to allow. It ends after 90 days without use; revoke it in the War Room."),
      ignoreFocusOut: true,
    });
    if (picked !== undefined) await decide(approval, "allow_workspace", { scope: picked.index });
  };
  const review = async (approval: Approval) => {
    const whole = approval.detail.length <= dialogChars && approval.detail.split("\n").length <= dialogLines;
    const once = vscode.l10n.t("Allow Once");
    const quest = vscode.l10n.t("Allow for This Task");
    const always = vscode.l10n.t("Always Allow in This Workspace…");
    const no = vscode.l10n.t("Deny…");
    const read = vscode.l10n.t("Show Full Text");
    const shown = whole ? approval.detail : `${approval.detail.split("\n").slice(0, dialogLines).join("\n").slice(0, dialogChars)}\n…`;
    const rules = approval.rules.map(({ message }) => `• ${message}`).join("\n");
    const wider = [...(approval.questId === null ? [] : [quest]), ...(approval.scopes.length === 0 ? [] : [always])];
    const buttons = [...(whole ? [once, ...wider] : [read]), no];
    const answer = await vscode.window.showWarningMessage(
      `${approval.tier} · ${approval.title}`,
      { modal: true, detail: `${shown}\n\n${vscode.l10n.t("Requires approval because:")}\n${rules}` },
      ...buttons,
    );
    if (answer === once) await decide(approval, "allow_once");
    else if (answer === quest) await decide(approval, "allow_quest");
    else if (answer === always) await allowInWorkspace(approval);
    else if (answer === no) await deny(approval);
    else if (answer === read) await readThenDecide(approval);
  };
  /** Shows a detail that is too long for a dialog in an editor, and asks in a notification. */
  const readThenDecide = async (approval: Approval) => {
    await details.show(vscode.l10n.t("Approval"), approval.detail);
    const once = vscode.l10n.t("Allow Once");
    const quest = vscode.l10n.t("Allow for This Task");
    const always = vscode.l10n.t("Always Allow in This Workspace…");
    const no = vscode.l10n.t("Deny…");
    const buttons = [once, ...(approval.questId === null ? [] : [quest]), ...(approval.scopes.length === 0 ? [] : [always]), no];
    const answer = await vscode.window.showWarningMessage(`${approval.tier} · ${approval.title}`, ...buttons);
    if (answer === once) await decide(approval, "allow_once");
    else if (answer === quest) await decide(approval, "allow_quest");
    else if (answer === always) await allowInWorkspace(approval);
    else if (answer === no) await deny(approval);
  };
  const pick = async (argument: unknown): Promise<Approval | undefined> => {
    const id = field(argument, "approvalId") ?? field(argument, "id");
    if (id !== undefined) return approvals.get(id);
    const pending = approvals.pending();
    if (pending.length === 0) void vscode.window.showInformationMessage(vscode.l10n.t("No approvals are pending."));
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

/** Where and how commands of a scope run, in one line. */
function describeScope({ capability, action, folder, containment, network }: ApprovalScope): string {
  if (containment === null) return `${capability}.${action}`;
  const where =
    containment === "host"
      ? vscode.l10n.t("On this machine, without a sandbox")
      : containment === "watched"
        ? vscode.l10n.t("In a sandbox that can change the workspace")
        : vscode.l10n.t("In a copy of the workspace, whose changes are proposed");
  const net =
    containment === "host"
      ? vscode.l10n.t("Network: not limited")
      : network === true
        ? vscode.l10n.t("With network access")
        : vscode.l10n.t("Without network access");
  return [
    folder === null || folder === "." ? vscode.l10n.t("Folder: the workspace") : vscode.l10n.t("Folder: {0}", folder),
    where,
    net,
  ].join(" · ");
}

/** Notifies the user of an approval or a question while the chat that shows it is hidden. */
export function announceApprovals(host: AgentHost, approvals: Approvals, chat: ChatView): vscode.Disposable {
  const announce = async (approval: Approval) => {
    const review = vscode.l10n.t("Review…");
    const deny = vscode.l10n.t("Deny…");
    const answer = await vscode.window.showWarningMessage(
      vscode.l10n.t("Lancelot requires your approval ({0}): {1}", approval.tier, approval.title),
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
      // The chat card and the tree always show the approval.
      if (isAnnounced(approval, chat.visible)) void announce(approval).catch(showError);
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
