import * as vscode from "vscode";
import type { SoulProposal, SoulStatus } from "../../agent-server/contract/soul.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { codeOf, showError } from "../host/show-error.ts";
import { showProposal } from "../review/soul-documents.ts";

const key = "announcedSoulProposals";
const remembered = 100;

/** Notifies the user once of each soul proposal by the agent, and sets the context keys of the soul commands. */
export function watchSoulProposals(context: vscode.ExtensionContext, host: AgentHost, log: vscode.LogOutputChannel): vscode.Disposable {
  const announced = new Set(context.globalState.get<string[]>(key, []));
  const announce = async (proposal: SoulProposal) => {
    announced.add(proposal.id);
    await context.globalState.update(key, [...announced].slice(-remembered));
    const review = vscode.l10n.t("Review");
    const later = vscode.l10n.t("Later");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t("Lancelot proposes a change to its soul ({0} → {1}): {2}", proposal.fromVersion, proposal.toVersion, proposal.reason),
      review,
      later,
    );
    if (answer === review) await showProposal(proposal);
  };
  const update = ({ pendingProposals }: SoulStatus) => {
    void vscode.commands.executeCommand("setContext", "lancelot.hasSoulProposals", pendingProposals.length > 0);
    for (const proposal of pendingProposals)
      if (proposal.status === "pending" && proposal.proposedBy === "agent" && !announced.has(proposal.id))
        void announce(proposal).catch(showError);
  };
  return vscode.Disposable.from(
    host.onEvent((event) => {
      if (event.topic === "soul") update(event.payload);
    }),
    host.onState(({ state }) => {
      if (state !== "ready") return;
      host.call("soul.status", {}).then(update, (error: unknown) => {
        // With the flag SOUL off there are no proposals.
        if (codeOf(error) !== "disabled") log.warn(`could not read soul proposals: ${String(error)}`);
      });
    }),
  );
}
