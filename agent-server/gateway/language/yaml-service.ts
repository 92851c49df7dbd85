import { trimEnd } from "../../contract/trim-end.ts";
import type { CompletionList, Diagnostic, Hover, Position } from "vscode-languageserver/node";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { yamlDocumentsCache } from "yaml-language-server/out/src/languageservice/parser/yaml-documents.js";
import { parseDocument } from "yaml";
import { getLanguageService, type LanguageService } from "yaml-language-server/out/src/languageservice/yamlLanguageService.js";
import type { SoulIssue } from "../../contract/soul.ts";
import { isTooDeep } from "../../owner-file.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DocumentKind } from "./kinds.ts";

const severities = { critical: 1, warning: 2 } as const;
const source = "Lancelot";
/** The YAML service's code for a schema that it could not fetch. */
const fetchProblem = 0x1_0000;

const services = new Map<string, LanguageService>();

/** The YAML service of one kind. It uses only this kind's schema and never fetches one that a document names. */
function serviceOf(kind: DocumentKind): LanguageService {
  const known = services.get(kind.name);
  if (known !== undefined) return known;
  const service = getLanguageService({
    schemaRequestService: () => Promise.reject(new Error("Schemas that a document names are not fetched.")),
    workspaceContext: { resolveRelativePath: (path) => path },
    clientCapabilities: {
      textDocument: { completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown", "plaintext"] } } },
    },
  });
  service.configure({
    validate: true,
    hover: true,
    completion: true,
    format: false,
    indentation: "  ",
    hoverSchemaSource: false,
    schemas: [{ uri: `lancelot://schema/${kind.name}`, name: kind.name, fileMatch: ["**"], schema: kind.schema() }],
  });
  services.set(kind.name, service);
  return service;
}

/** Clears the service's cache when documents open or close: it caches by URI and version, and a URI can return with another text. */
export function forgetYaml(): void {
  yamlDocumentsCache.clear();
}

/** Characters; aliases (`*name`), because the service looks for the anchor of each through the whole text; mistakes, which it explains one by one. */
const mostCharacters = 100_000;
const mostAliases = 100;
const mostMistakes = 500;

/** Why a document is not checked: it would block the host for seconds or minutes. Null for any other. */
export function whyUnchecked(document: TextDocument): SoulIssue | null {
  const text = document.getText();
  const why =
    text.length > mostCharacters
      ? "it is too long"
      : isTooDeep(text)
        ? "it is nested too deeply"
        : (text.match(/(?:^|[\s,[{:?-])\*[^\s,[\]{}]/gm)?.length ?? 0) > mostAliases
          ? "it has too many aliases"
          : mistakesIn(text) > mostMistakes
            ? "it has too many mistakes"
            : null;
  return why === null ? null : { rule: "unchecked", severity: "critical", message: `Lancelot cannot read this file: ${why}.` };
}

function mistakesIn(text: string): number {
  try {
    return parseDocument(text, { prettyErrors: false, uniqueKeys: false }).errors.length;
  } catch {
    // The service says what it makes of it.
    return 0;
  }
}

/** The service's answer, or `otherwise`: it throws on some unfinished documents, such as a key without a name. */
async function answered<T>(otherwise: T, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch {
    return otherwise;
  }
}

/** Diagnostics from syntax, schema and the host's own rules. */
export async function checkYaml(
  document: TextDocument,
  kind: DocumentKind,
  dispatch: Dispatch | null,
  signal: AbortSignal,
  log: (message: string, error?: unknown) => void,
): Promise<Diagnostic[]> {
  const lint = async (): Promise<readonly SoulIssue[]> => {
    if (kind.lint === undefined || dispatch === null) return [];
    try {
      return await kind.lint(document.getText(), dispatch, signal);
    } catch (error) {
      // Syntax and schema are still checked, for example while the flag SOUL is off.
      if (!signal.aborted) log(`checked a ${kind.name} document only against its schema`, error);
      return [];
    }
  };
  const validate = async (): Promise<Diagnostic[]> => {
    try {
      return await serviceOf(kind).doValidation(document, false);
    } catch (error) {
      log(`could not check a ${kind.name} document against its schema`, error);
      return [
        diagnosticOf(document, { rule: "unchecked", severity: "warning", message: "Lancelot cannot check this file against its schema." }),
      ];
    }
  };
  const [byService, issues] = await Promise.all([validate(), lint()]);
  const found = byService.map(ours);
  const lines = new Set(found.filter(({ severity }) => severity === severities.critical).map(({ range }) => range.start.line));
  for (const issue of issues) {
    const diagnostic = diagnosticOf(document, issue);
    // Skips the host's schema issue where the service reports the same line with a better range.
    if (issue.rule === "schema" && lines.has(diagnostic.range.start.line)) continue;
    found.push(diagnostic);
  }
  return found;
}

/** Raises schema violations (numbered codes) to errors, because the host refuses such documents. */
function ours(diagnostic: Diagnostic): Diagnostic {
  const { code } = diagnostic;
  const bySchema = typeof code === "number" && code < fetchProblem && diagnostic.data !== undefined;
  return { ...diagnostic, source, ...(bySchema ? { code: "schema", severity: severities.critical } : {}) };
}

/** A diagnostic from the issue's position to the end of its line; on the first line without a position. */
export function diagnosticOf(document: TextDocument, { rule, severity, message, line = 1, column = 1 }: SoulIssue): Diagnostic {
  const row = Math.min(Math.max(line - 1, 0), document.lineCount - 1);
  const words = trimEnd(document.getText({ start: { line: row, character: 0 }, end: { line: row + 1, character: 0 } }), "\r\n");
  const start = Math.min(Math.max(column - 1, 0), words.length);
  const end = Math.max(words.trimEnd().length, start);
  return {
    range: { start: { line: row, character: start }, end: { line: row, character: end } },
    severity: severities[severity],
    code: rule,
    source,
    message,
  };
}

export async function completeYaml(document: TextDocument, kind: DocumentKind, position: Position): Promise<CompletionList> {
  const nothing: CompletionList = { isIncomplete: false, items: [] };
  const list = await answered(nothing, () => serviceOf(kind).doComplete(document, position, false));
  // Drops completions that insert a whole object, which the service labels with only the type.
  return { ...list, items: list.items.filter(({ label }) => label !== "object" && label !== "array") };
}

export async function hoverYaml(document: TextDocument, kind: DocumentKind, position: Position): Promise<Hover | null> {
  return answered(null, async () => (await serviceOf(kind).doHover(document, position)) ?? null);
}
