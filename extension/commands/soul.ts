import * as vscode from "vscode";
import type { SoulIssue, SoulProposal } from "../../agent-server/contract/soul.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { findProposal, proposalIdOf, showProposal, soulScheme, versionUri } from "../review/soul-documents.ts";
import { changedLines } from "../review/soul-text.ts";
import { confirm, runDecision, showWithAction } from "./confirmation.ts";
import { type Commands, field } from "./commands.ts";
import { openSoulDraft } from "./soul-draft.ts";

function issueText({ severity, message, rule, line }: SoulIssue): string {
  const where = line === undefined ? "" : ` ${vscode.l10n.t("(line {0})", line)}`;
  return `• ${severity === "critical" ? vscode.l10n.t("Critical") : vscode.l10n.t("Warning")}: ${message} [${rule}]${where}`;
}

function issueList(issues: readonly SoulIssue[]): string {
  return issues.map(issueText).join("\n");
}

/** The id of the proposal at a document's URI; null for anything else. */
function shownProposal(of: unknown): string | null {
  return of instanceof vscode.Uri ? proposalIdOf(of) : null;
}

/** Commands that show, edit and propose the soul, and decide about proposals. */
export function soulCommands(host: AgentHost): Commands {
  const active = async (): Promise<string | null> => {
    const { activeVersion, problem } = await host.call("soul.status", {});
    if (activeVersion === null) void vscode.window.showWarningMessage(problem ?? vscode.l10n.t("No soul is active."));
    return activeVersion;
  };
  const pickProposal = async (argument: unknown, wanted: readonly SoulProposal["status"][]): Promise<SoulProposal | undefined> => {
    const id = field(argument, "id") ?? shownProposal(argument) ?? shownProposal(vscode.window.activeTextEditor?.document.uri);
    if (id !== null) return findProposal(host, id);
    const { pendingProposals } = await host.call("soul.status", {});
    const open = pendingProposals.filter(({ status }) => wanted.includes(status));
    if (open.length === 0) void vscode.window.showInformationMessage(vscode.l10n.t("There is no soul proposal to decide on."));
    if (open.length <= 1) return open[0];
    const picked = await vscode.window.showQuickPick(
      open.map((proposal) => ({
        label: vscode.l10n.t("{0} → {1}", proposal.fromVersion, proposal.toVersion),
        description: proposal.proposedBy === "agent" ? vscode.l10n.t("proposed by Lancelot") : vscode.l10n.t("proposed by you"),
        detail: proposal.reason,
        proposal,
      })),
      { title: vscode.l10n.t("Soul Proposals"), matchOnDetail: true },
    );
    return picked?.proposal;
  };
  const describe = (proposal: SoulProposal): string => {
    const parts = [vscode.l10n.t("Reason: {0}", proposal.reason), changedLines(proposal.diff)];
    if (proposal.issues.length > 0) parts.push(issueList(proposal.issues));
    return parts.join("\n\n");
  };
  const approve = async (proposal: SoulProposal) => {
    const answer = await confirm({
      question: vscode.l10n.t("Approve soul {0}?", proposal.toVersion),
      detail: `${vscode.l10n.t("Nothing changes until you activate it.")}\n\n${describe(proposal)}`,
      yes: vscode.l10n.t("Approve"),
      other: vscode.l10n.t("Show Diff"),
    });
    if (answer === "other") return showProposal(proposal);
    if (answer === "no") return;
    const approved = await runDecision(() => host.call("soul.approve", { id: proposal.id }));
    if (approved === null) return;
    showWithAction(
      vscode.l10n.t("Soul {0} approved. It takes effect when you activate it.", approved.toVersion),
      vscode.l10n.t("Activate…"),
      () => activate(approved),
    );
  };
  const activate = async (proposal: SoulProposal) => {
    const answer = await confirm({
      question: vscode.l10n.t("Activate soul {0}?", proposal.toVersion),
      detail: `${vscode.l10n.t("It applies to every action from the next decision on, in every window. You can roll back to {0} at any time.", proposal.fromVersion)}\n\n${describe(proposal)}`,
      yes: vscode.l10n.t("Activate"),
      other: vscode.l10n.t("Show Diff"),
    });
    if (answer === "other") return showProposal(proposal);
    if (answer === "no") return;
    const done = await runDecision(() => host.call("soul.activate", { id: proposal.id }));
    if (done !== null) void vscode.window.showInformationMessage(vscode.l10n.t("Soul {0} is active.", done.toVersion));
  };
  const reject = async (proposal: SoulProposal) => {
    const reason = await vscode.window.showInputBox({
      title: vscode.l10n.t("Reject soul {0}", proposal.toVersion),
      prompt: vscode.l10n.t("Tell Lancelot why (optional)."),
      ignoreFocusOut: true,
    });
    if (reason === undefined) return;
    const answer = await confirm({
      question: vscode.l10n.t("Reject soul {0}?", proposal.toVersion),
      detail: `${vscode.l10n.t("This closes the proposal and keeps it in the history. The active soul does not change.")}\n\n${describe(proposal)}`,
      yes: vscode.l10n.t("Reject"),
    });
    if (answer !== "yes") return;
    await runDecision(() => host.call("soul.reject", { id: proposal.id, ...(reason === "" ? {} : { reason }) }));
  };
  const rollBack = async (argument: unknown) => {
    const { activeVersion, versions } = await host.call("soul.status", {});
    const others = versions.filter((version) => version !== activeVersion).toReversed();
    const version =
      field(argument, "version") ??
      (others.length === 0
        ? undefined
        : await vscode.window.showQuickPick(others, { title: vscode.l10n.t("Roll back to which version of the soul?") }));
    if (version === undefined) {
      if (others.length === 0) void vscode.window.showInformationMessage(vscode.l10n.t("There is no other version of the soul."));
      return;
    }
    const answer = await confirm({
      question: vscode.l10n.t("Roll back to soul {0}?", version),
      detail: vscode.l10n.t(
        "It applies to every action from the next decision on, in every window. The current version ({0}) stays in the list of versions.",
        activeVersion ?? vscode.l10n.t("none"),
      ),
      yes: vscode.l10n.t("Roll Back"),
      ...(activeVersion === null ? {} : { other: vscode.l10n.t("Show Diff") }),
    });
    if (answer === "other" && activeVersion !== null) return compare(version, activeVersion);
    if (answer !== "yes") return;
    const status = await runDecision(() => host.call("soul.rollback", { version }));
    if (status !== null) void vscode.window.showInformationMessage(vscode.l10n.t("Soul {0} is active.", status.activeVersion ?? version));
  };
  const compare = async (version: string, other: string) => {
    await vscode.commands.executeCommand(
      "vscode.diff",
      versionUri(version),
      versionUri(other),
      vscode.l10n.t("Soul {0} ↔ {1} (active)", version, other),
      { preview: true },
    );
  };
  const on = (wanted: readonly SoulProposal["status"][], run: (proposal: SoulProposal) => Promise<void>) => async (argument: unknown) => {
    const proposal = await pickProposal(argument, wanted);
    if (proposal !== undefined) await run(proposal);
  };
  const propose = async () => {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined || document.languageId !== "yaml" || document.uri.scheme === soulScheme) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("Open the YAML file of your new soul first. “Lancelot: Edit Soul” creates a draft."),
      );
      return;
    }
    const yaml = document.getText();
    const { issues } = await host.call("soul.lint", { yaml });
    if (issues.some(({ severity }) => severity === "critical")) {
      const problems = vscode.l10n.t("Show Problems");
      const answer = await vscode.window.showErrorMessage(
        vscode.l10n.t("This soul has critical issues and cannot be proposed yet."),
        { modal: true, detail: issueList(issues) },
        problems,
      );
      if (answer === problems) await vscode.commands.executeCommand("workbench.actions.view.problems");
      return;
    }
    const reason = await vscode.window.showInputBox({
      title: vscode.l10n.t("Propose Soul"),
      prompt: [vscode.l10n.t("Why this change? The reason is stored with the proposal."), issueList(issues)]
        .filter((text) => text !== "")
        .join("\n"),
      ignoreFocusOut: true,
      validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("Enter a reason for the proposal.") : undefined),
    });
    if (reason === undefined) return;
    const proposal = await host.call("soul.propose", { yaml, reason: reason.trim() });
    showWithAction(
      vscode.l10n.t("Soul {0} proposed. Nothing changes until you approve and activate it.", proposal.toVersion),
      vscode.l10n.t("Review…"),
      () => showProposal(proposal),
    );
  };

  return {
    async "lancelot.showSoul"() {
      const version = await active();
      if (version !== null) await vscode.window.showTextDocument(versionUri(version), { preview: true });
    },
    async "lancelot.editSoul"() {
      const version = await active();
      if (version === null) return;
      const { versions } = await host.call("soul.status", {});
      const { yaml } = await host.call("soul.get", { version });
      await openSoulDraft(yaml, versions);
    },
    "lancelot.proposeSoul": propose,
    "lancelot.reviewSoulProposals": on(["pending", "approved"], showProposal),
    "lancelot.approveSoul": on(["pending"], approve),
    "lancelot.activateSoul": on(["approved"], activate),
    "lancelot.rejectSoul": on(["pending", "approved"], reject),
    "lancelot.rollBackSoul": rollBack,
    async "lancelot.compareSoul"(argument) {
      const version = field(argument, "version");
      const current = await active();
      if (version !== undefined && current !== null) await compare(version, current);
    },
  };
}
