import * as vscode from "vscode";
import type { SoulProposal } from "../../agent-server/contract/soul.ts";
import type { AgentHost } from "../host/agent-host.ts";

/** Read-only souls: a version, or what a proposal would make. */
export const soulScheme = "lancelot-soul";

export function versionUri(version: string): vscode.Uri {
  return vscode.Uri.from({ scheme: soulScheme, path: `/soul_${version}.yaml` });
}

export function proposalUri(proposal: Pick<SoulProposal, "id" | "toVersion">): vscode.Uri {
  return vscode.Uri.from({ scheme: soulScheme, path: `/soul_${proposal.toVersion}.yaml`, query: proposal.id });
}

/** The proposal a document shows; null for a version or any other document. */
export function proposalIdOf(uri: vscode.Uri): string | null {
  return uri.scheme === soulScheme && uri.query !== "" ? uri.query : null;
}

/** The version in the name of a soul file; null when there is none. */
export function versionOf(uri: vscode.Uri): string | null {
  return /\/soul_(v\d+)[^/]*\.yaml$/.exec(uri.path)?.[1] ?? null;
}

/** One of the proposals, whatever became of it. @throws Error with words for the owner when it is gone. */
export async function findProposal(host: AgentHost, id: string): Promise<SoulProposal> {
  const { items } = await host.call("soul.proposals", { limit: 200 });
  const found = items.find((proposal) => proposal.id === id);
  if (found === undefined) throw new Error(vscode.l10n.t("This proposal is no longer there."));
  return found;
}

/** Serves souls to the editor. Versions and proposals are written once, so nothing has to follow them. */
export function registerSoulDocuments(host: AgentHost): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(soulScheme, {
    async provideTextDocumentContent(uri) {
      const proposal = proposalIdOf(uri);
      if (proposal !== null) return (await findProposal(host, proposal)).yaml;
      const version = versionOf(uri);
      return (await host.call("soul.get", version === null ? {} : { version })).yaml;
    },
  });
}

/** A proposal beside the version it starts from. */
export async function showProposal(proposal: SoulProposal): Promise<void> {
  await vscode.commands.executeCommand(
    "vscode.diff",
    versionUri(proposal.fromVersion),
    proposalUri(proposal),
    vscode.l10n.t("Soul {0} → {1} (proposed)", proposal.fromVersion, proposal.toVersion),
    { preview: true },
  );
}
