import * as vscode from "vscode";
import { normalized } from "../editor/text.ts";
import type { Proposals } from "./proposals.ts";

/** Documents with the proposed text of a change, and the empty side of a new or deleted file. */
export const proposedScheme = "lancelot-proposed";
/** Read-only documents for the user: details of an approval, the diff of an undo. */
const detailScheme = "lancelot-detail";

/** Keeps the file's path, so that the label, icon and language match the file. */
export function proposedUri(changeId: string, file: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: proposedScheme, path: file.path, query: changeId });
}

export function emptyUri(file: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: proposedScheme, path: file.path });
}

/** The id of the change that a document shows; null for any other document. */
export function changeIdOf(uri: vscode.Uri): string | null {
  return uri.scheme === proposedScheme && uri.query !== "" ? uri.query : null;
}

/** Provides proposed texts; open documents update with their change. */
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

/** How long (ms) an open document may take to update. */
const followTimeoutMs = 3000;

export function follows(document: vscode.TextDocument, proposed: string | null): boolean {
  return normalized(document.getText()) === normalized(proposed ?? "");
}

/** Resolves when an open document shows the current proposed text; line numbers are invalid before. */
export async function followed(document: vscode.TextDocument, proposed: string | null): Promise<void> {
  if (follows(document, proposed)) return;
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      listener.dispose();
      resolve();
    };
    const listener = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === document && follows(document, proposed)) finish();
    });
    const timer = setTimeout(finish, followTimeoutMs);
  });
}

/** Read-only texts, dropped when their document closes. */
export interface Details extends vscode.Disposable {
  /** Shows a text in an editor to the side. */
  show(name: string, text: string): Promise<void>;
  /** A document with this text, for one side of a diff. Its name determines the language. */
  document(name: string, text: string): vscode.Uri;
}

export function createDetails(): Details {
  const texts = new Map<string, string>();
  let made = 0;
  const registrations = [
    vscode.workspace.registerTextDocumentContentProvider(detailScheme, {
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "",
    }),
    vscode.workspace.onDidCloseTextDocument((document) => texts.delete(document.uri.toString())),
  ];
  const document = (name: string, text: string): vscode.Uri => {
    const uri = vscode.Uri.from({ scheme: detailScheme, path: `/${name}`, query: String(++made) });
    texts.set(uri.toString(), text);
    return uri;
  };
  return {
    document,
    async show(name, text) {
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(document(name, text)), { preview: true });
    },
    dispose: () => vscode.Disposable.from(...registrations).dispose(),
  };
}
