import {
  type CancellationToken,
  type CompletionList,
  type CompletionParams,
  type Connection,
  type Diagnostic,
  type Hover,
  type HoverParams,
  type ServerCapabilities,
  TextDocumentSyncKind,
} from "vscode-languageserver/node";
import type { Dispatch } from "../dispatch.ts";
import type { LanguageDocuments } from "./documents.ts";

/** The language features that the host offers for the documents in the client's selector. */
export const languageCapabilities: ServerCapabilities = {
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
  completionProvider: { triggerCharacters: [":", " "] },
  hoverProvider: true,
};

export interface LanguageOptions {
  /** Runs a method of the contract; null while the host starts. */
  dispatch(): Dispatch | null;
  log(message: string, error?: unknown): void;
}

/**
 * Completion, hover and diagnostics for Lancelot's YAML files. The YAML service loads with the first such
 * document, to save memory in hosts that never see one.
 */
export function serveLanguage(connection: Connection, { dispatch, log }: LanguageOptions): void {
  let loading: Promise<LanguageDocuments> | null = null;
  const load = () =>
    (loading ??= import("./documents.ts").then(({ createLanguageDocuments }) =>
      createLanguageDocuments({
        publish: (uri, version, diagnostics: Diagnostic[]) =>
          void connection.sendDiagnostics({ uri, version, diagnostics }).catch((error: unknown) => log("diagnostics not sent", error)),
        dispatch,
        log,
      }),
    ));
  // Runs notifications in order, because a change is only valid after its document was opened.
  let queue: Promise<void> = Promise.resolve();
  const inOrder = (run: (documents: LanguageDocuments) => void) => {
    queue = queue.then(async () => run(await load())).catch((error: unknown) => log("could not process a document change", error));
  };
  const after = async <T>(run: (documents: LanguageDocuments) => Promise<T>): Promise<T> => {
    await queue;
    return run(await load());
  };

  connection.onDidOpenTextDocument(({ textDocument }) => inOrder((documents) => documents.open(textDocument)));
  connection.onDidChangeTextDocument(({ textDocument, contentChanges }) =>
    inOrder((documents) => documents.change(textDocument.uri, textDocument.version, contentChanges)),
  );
  connection.onDidCloseTextDocument(({ textDocument }) => inOrder((documents) => documents.close(textDocument.uri)));
  connection.onCompletion(
    ({ textDocument, position }: CompletionParams, token: CancellationToken): Promise<CompletionList | null> =>
      after((documents) => documents.complete(textDocument.uri, position, token)),
  );
  connection.onHover(
    ({ textDocument, position }: HoverParams, token: CancellationToken): Promise<Hover | null> =>
      after((documents) => documents.hover(textDocument.uri, position, token)),
  );
}
