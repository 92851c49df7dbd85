import * as vscode from "vscode";
import type { SoulProposal, SoulStatus } from "../../agent-server/contract/soul.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { codeOf, report } from "../host/report.ts";
import { showProposal } from "../review/soul-documents.ts";

const key = "announcedSoulProposals";
const remembered = 100;

/** Tells the owner once of each amendment the agent proposes, and keeps the when clauses of the soul's commands true. */
export function watchSoulProposals(context: vscode.ExtensionContext, host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  const announced = new Set(context.globalState.get<string[]>(key, []));
  const announce = async (proposal: SoulProposal) => {
    announced.add(proposal.id);
    await context.globalState.update(key, [...announced].slice(-remembered));
    const review = vscode.l10n.t("Review");
    const later = vscode.l10n.t("Later");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t("Lancelot proposes a change of its soul ({0} → {1}): {2}", proposal.fromVersion, proposal.toVersion, proposal.reason),
      review,
      later,
    );
    if (answer === review) await showProposal(proposal);
  };
  const take = ({ pendingProposals }: SoulStatus) => {
    void vscode.commands.executeCommand("setContext", "lancelot.hasSoulProposals", pendingProposals.length > 0);
    for (const proposal of pendingProposals)
      if (proposal.status === "pending" && proposal.proposedBy === "agent" && !announced.has(proposal.id))
        void announce(proposal).catch(report);
  };
  return vscode.Disposable.from(
    host.onEvent((event) => {
      if (event.topic === "soul") take(event.payload);
    }),
    host.onState(({ state }) => {
      if (state !== "ready") return;
      host.call("soul.status", {}).then(take, (error: unknown) => {
        // Switched off, there is nothing to tell.
        if (codeOf(error) !== "disabled") log.warn(`soul proposals were not read: ${String(error)}`);
      });
    }),
  );
}
