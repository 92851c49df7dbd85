import * as vscode from "vscode";
import type { Proposals } from "./proposals.ts";

/** The proposed side of a change, and the empty side of a new or deleted file. */
export const proposedScheme = "lancelot-proposed";
/** Read-only text for the owner to read: details of an approval, what an undo would do. */
export const detailScheme = "lancelot-detail";

export function proposedUri(changeId: string, path: string): vscode.Uri {
  return vscode.Uri.from({ scheme: proposedScheme, path: `/${path}`, query: changeId });
}

export function emptyUri(path: string): vscode.Uri {
  return vscode.Uri.from({ scheme: proposedScheme, path: `/${path}` });
}

/** The change a document shows the proposed side of; null for any other document. */
export function changeIdOf(uri: vscode.Uri): string | null {
  return uri.scheme === proposedScheme && uri.query !== "" ? uri.query : null;
}

/** Serves proposed texts; an open document follows its change. */
export function proposedDocuments(proposals: Proposals, onDidChange: vscode.Event<vscode.Uri>): vscode.TextDocumentContentProvider {
  return {
    onDidChange,
    async provideTextDocumentContent(uri) {
      const id = changeIdOf(uri);
      if (id === null) return "";
      const { proposed } = await proposals.texts(id);
      return proposed ?? "";
    },
  };
}

/** Shows text in a read-only editor beside what is open; closed, it is forgotten. */
export function createDetails(): vscode.Disposable & { show(name: string, text: string): Promise<void> } {
  const texts = new Map<string, string>();
  let made = 0;
  const registrations = [
    vscode.workspace.registerTextDocumentContentProvider(detailScheme, {
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "",
    }),
    vscode.workspace.onDidCloseTextDocument((document) => texts.delete(document.uri.toString())),
  ];
  return {
    async show(name, text) {
      const uri = vscode.Uri.from({ scheme: detailScheme, path: `/${name}`, query: String(++made) });
      texts.set(uri.toString(), text);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
    },
    dispose: () => vscode.Disposable.from(...registrations).dispose(),
  };
}
