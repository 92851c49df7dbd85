import type {
  CancellationToken,
  CompletionList,
  Diagnostic,
  Hover,
  Position,
  TextDocumentContentChangeEvent,
  TextDocumentItem,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import type { Dispatch } from "../dispatch.ts";
import { kindOf } from "./kinds.ts";
import { checkYaml, completeYaml, diagnosticOf, forgetYaml, hoverYaml, whyUnchecked } from "./yaml-service.ts";

export interface LanguageDocumentsDeps {
  publish(uri: string, version: number, diagnostics: Diagnostic[]): void;
  dispatch(): Dispatch | null;
  log(message: string, error?: unknown): void;
  /** How long (ms) typing must pause before a document is checked. */
  debounceMs?: number;
}

/** Diagnostics, completion and hover for the open documents. */
export interface LanguageDocuments {
  open(item: TextDocumentItem): void;
  change(uri: string, version: number, changes: readonly TextDocumentContentChangeEvent[]): void;
  close(uri: string): void;
  complete(uri: string, position: Position, token: CancellationToken): Promise<CompletionList | null>;
  hover(uri: string, position: Position, token: CancellationToken): Promise<Hover | null>;
}

const defaultDebounceMs = 250;

interface Open {
  document: TextDocument;
  timer: NodeJS.Timeout | null;
  /** Aborted with each change, so that a check of an older text is discarded. */
  abort: AbortController;
}

export function createLanguageDocuments({
  publish,
  dispatch,
  log,
  debounceMs = defaultDebounceMs,
}: LanguageDocumentsDeps): LanguageDocuments {
  const open = new Map<string, Open>();

  const check = async (entry: Open): Promise<void> => {
    const { document, abort } = entry;
    const kind = kindOf(document.uri);
    if (kind === null) return;
    const { uri, version } = document;
    try {
      const unchecked = whyUnchecked(document);
      const diagnostics =
        unchecked === null ? await checkYaml(document, kind, dispatch(), abort.signal, log) : [diagnosticOf(document, unchecked)];
      if (!abort.signal.aborted) publish(uri, version, diagnostics);
    } catch (error) {
      if (!abort.signal.aborted) log("could not check a document", error);
    }
  };
  const schedule = (entry: Open, ms: number): void => {
    entry.abort.abort();
    entry.abort = new AbortController();
    if (entry.timer !== null) clearTimeout(entry.timer);
    entry.timer = setTimeout(() => {
      entry.timer = null;
      void check(entry);
    }, ms);
  };
  const usable = (uri: string, token: CancellationToken): TextDocument | null => {
    const entry = open.get(uri);
    return entry === undefined || token.isCancellationRequested || whyUnchecked(entry.document) !== null ? null : entry.document;
  };

  return {
    open({ uri, languageId, version, text }) {
      const entry: Open = { document: TextDocument.create(uri, languageId, version, text), timer: null, abort: new AbortController() };
      forgetYaml();
      open.set(uri, entry);
      schedule(entry, 0);
    },
    change(uri, version, changes) {
      const entry = open.get(uri);
      if (entry === undefined) return;
      entry.document = TextDocument.update(entry.document, [...changes], version);
      schedule(entry, debounceMs);
    },
    close(uri) {
      const entry = open.get(uri);
      if (entry === undefined) return;
      entry.abort.abort();
      if (entry.timer !== null) clearTimeout(entry.timer);
      open.delete(uri);
      forgetYaml();
      publish(uri, entry.document.version, []);
    },
    async complete(uri, position, token) {
      const document = usable(uri, token);
      const kind = kindOf(uri);
      if (document === null || kind === null) return null;
      const list = await completeYaml(document, kind, position);
      return token.isCancellationRequested ? null : list;
    },
    async hover(uri, position, token) {
      const document = usable(uri, token);
      const kind = kindOf(uri);
      if (document === null || kind === null) return null;
      const hover = await hoverYaml(document, kind, position);
      return token.isCancellationRequested ? null : hover;
    },
  };
}
