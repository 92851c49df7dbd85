import type { CompletionList, Diagnostic, Hover, Position } from "vscode-languageserver/node";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { yamlDocumentsCache } from "yaml-language-server/out/src/languageservice/parser/yaml-documents.js";
import { getLanguageService, type LanguageService } from "yaml-language-server/out/src/languageservice/yamlLanguageService.js";
import type { SoulIssue } from "../../contract/soul.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DocumentKind } from "./kinds.ts";

const severities = { critical: 1, warning: 2 } as const;
const source = "Lancelot";
/** The service's code for a schema that could not be had. */
const fetchProblem = 0x1_0000;

const services = new Map<string, LanguageService>();

/** The YAML service of one kind; it knows this kind's schema and fetches none, whatever a document names. */
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

/** To be called as documents open and close: the service keeps texts by address and version, and an address may come back with another text. */
export function forgetYaml(): void {
  yamlDocumentsCache.clear();
}

/** Problems of a text: its syntax and schema, and what the host's own rules say. */
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
      // Syntax and schema are told all the same, for example while the flag of the soul is off.
      if (!signal.aborted) log(`a ${kind.name} document was checked by its schema alone`, error);
      return [];
    }
  };
  const [byService, issues] = await Promise.all([serviceOf(kind).doValidation(document, false), lint()]);
  const found = byService.map(ours);
  const lines = new Set(found.filter(({ severity }) => severity === severities.critical).map(({ range }) => range.start.line));
  for (const issue of issues) {
    const diagnostic = diagnosticOf(document, issue);
    // The service shows the same with a better range; said by the host alone it stays.
    if (issue.rule === "schema" && lines.has(diagnostic.range.start.line)) continue;
    found.push(diagnostic);
  }
  return found;
}

/** A numbered code is one of the schema checks: the host refuses a document that does not fit, so it is an error. */
function ours(diagnostic: Diagnostic): Diagnostic {
  const { code } = diagnostic;
  const bySchema = typeof code === "number" && code < fetchProblem && diagnostic.data !== undefined;
  return { ...diagnostic, source, ...(bySchema ? { code: "schema", severity: severities.critical } : {}) };
}

/** An issue at its place, to the end of that line; one without a place stands at the first line. */
export function diagnosticOf(document: TextDocument, { rule, severity, message, line = 1, column = 1 }: SoulIssue): Diagnostic {
  const row = Math.min(Math.max(line - 1, 0), document.lineCount - 1);
  const words = document.getText({ start: { line: row, character: 0 }, end: { line: row + 1, character: 0 } }).replace(/[\r\n]+$/, "");
  const start = Math.min(Math.max(column - 1, 0), words.length);
  const end = Math.max(words.replace(/\s+$/, "").length, start);
  return {
    range: { start: { line: row, character: start }, end: { line: row, character: end } },
    severity: severities[severity],
    code: rule,
    source,
    message,
  };
}

export async function completeYaml(document: TextDocument, kind: DocumentKind, position: Position): Promise<CompletionList> {
  const list = await serviceOf(kind).doComplete(document, position, false);
  // The service offers whole objects under the name of their type, which says nothing to anyone.
  return { ...list, items: list.items.filter(({ label }) => label !== "object" && label !== "array") };
}

export async function hoverYaml(document: TextDocument, kind: DocumentKind, position: Position): Promise<Hover | null> {
  return (await serviceOf(kind).doHover(document, position)) ?? null;
}
