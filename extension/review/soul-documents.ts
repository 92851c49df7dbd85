import * as vscode from "vscode";
import type { SoulProposal } from "../../agent-server/contract/soul.ts";
import type { AgentHost } from "../host/agent-host-types.ts";

/** Scheme of read-only soul documents: a version, or the result of a proposal. */
export const soulScheme = "lancelot-soul";

export function versionUri(version: string): vscode.Uri {
  return vscode.Uri.from({ scheme: soulScheme, path: `/soul_${version}.yaml` });
}

export function proposalUri(proposal: Pick<SoulProposal, "id" | "toVersion">): vscode.Uri {
  return vscode.Uri.from({ scheme: soulScheme, path: `/soul_${proposal.toVersion}.yaml`, query: proposal.id });
}

/** The id of the proposal that a document shows; null for a version or any other document. */
export function proposalIdOf(uri: vscode.Uri): string | null {
  return uri.scheme === soulScheme && uri.query !== "" ? uri.query : null;
}

/** The version in a soul file's name; null without one. */
export function versionOf(uri: vscode.Uri): string | null {
  return /\/soul_(v\d+)(?:[^/\d][^/]*)?\.yaml$/.exec(uri.path)?.[1] ?? null;
}

/** Finds a proposal in any status. @throws Error with a message for the user when it no longer exists. */
export async function findProposal(host: AgentHost, id: string): Promise<SoulProposal> {
  const { items } = await host.call("soul.proposals", { limit: 200 });
  const found = items.find((proposal) => proposal.id === id);
  if (found === undefined) throw new Error(vscode.l10n.t("This proposal no longer exists."));
  return found;
}

/** Provides soul documents. Versions and proposals never change, so documents need no updates. */
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

/** Shows a proposal as a diff against the version it is based on. */
export async function showProposal(proposal: SoulProposal): Promise<void> {
  await vscode.commands.executeCommand(
    "vscode.diff",
    versionUri(proposal.fromVersion),
    proposalUri(proposal),
    vscode.l10n.t("Soul {0} → {1} (proposed)", proposal.fromVersion, proposal.toVersion),
    { preview: true },
  );
}
