import * as vscode from "vscode";
import type { EditorParams, EditorResult } from "../../agent-server/contract/editor.ts";
import { pathOf, uriOf } from "./workspace-path.ts";

/** How long (ms) to wait for a language service, which may still be starting. */
const timeoutMs = 5_000;
const maxEntries = 1_000;
const maxPlaces = 500;
const maxDepth = 8;

type Entry = EditorResult<"symbols">["entries"][number];

/** Symbols of a file from the language service, with lines from 1. Empty without an answer in time. */
export async function readSymbols({ path }: EditorParams<"symbols">): Promise<EditorResult<"symbols">> {
  const uri = uriOf(path);
  const { languageId: language } = await vscode.workspace.openTextDocument(uri);
  const found = await inTime<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri);
  const entries: Entry[] = [];
  const add = (symbol: vscode.DocumentSymbol | vscode.SymbolInformation, depth: number): void => {
    if (entries.length >= maxEntries || depth > maxDepth) return;
    const range = "range" in symbol ? symbol.range : symbol.location.range;
    entries.push({
      name: symbol.name,
      kind: (vscode.SymbolKind[symbol.kind] ?? "symbol").toLowerCase(),
      startLine: range.start.line + 1,
      endLine: range.end.line + 1,
      depth,
      signature: "detail" in symbol && symbol.detail !== "" ? `${symbol.name} ${symbol.detail}` : symbol.name,
    });
    if ("children" in symbol) for (const child of symbol.children) add(child, depth + 1);
  };
  for (const symbol of found ?? []) add(symbol, 0);
  return { language, entries };
}

/** References to the symbol at a position. */
export function readReferences(params: EditorParams<"references">): Promise<EditorResult<"references">> {
  return readPlaces("vscode.executeReferenceProvider", params);
}

/** Definitions of the symbol at a position. */
export function readDefinition(params: EditorParams<"definition">): Promise<EditorResult<"definition">> {
  return readPlaces("vscode.executeDefinitionProvider", params);
}

async function readPlaces(command: string, { path, line, column }: EditorParams<"references">): Promise<EditorResult<"references">> {
  const uri = uriOf(path);
  // Most language services do not know documents that were never opened.
  await vscode.workspace.openTextDocument(uri);
  const found = await inTime<(vscode.Location | vscode.LocationLink)[]>(command, uri, new vscode.Position(line - 1, column - 1));
  const items = (found ?? []).flatMap((location) => {
    const target = "targetUri" in location ? location.targetUri : location.uri;
    const range = "targetUri" in location ? (location.targetSelectionRange ?? location.targetRange) : location.range;
    const relative = pathOf(target);
    return relative === null ? [] : [{ path: relative, line: range.start.line + 1, column: range.start.character + 1 }];
  });
  return { items: items.slice(0, maxPlaces), truncated: items.length > maxPlaces, answered: found !== null };
}

/** The result of a VS Code command; null without an answer in time. */
async function inTime<T>(command: string, ...args: readonly unknown[]): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs);
  });
  try {
    const asked = vscode.commands.executeCommand<T | undefined>(command, ...args);
    return (await Promise.race([asked, late])) ?? null;
  } finally {
    clearTimeout(timer);
  }
}
