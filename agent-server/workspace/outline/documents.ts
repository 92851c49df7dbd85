import { type Node, parseTree } from "jsonc-parser";
import { isMap, isPair, isScalar, isSeq, LineCounter, parseAllDocuments } from "yaml";
import type { OutlineEntry } from "../../contract/context.ts";
import type { Definitions } from "./definitions.ts";

const maxEntries = 500;
const maxDepth = 2;
/** Characters of a line that are looked at for a heading. */
const maxHeading = 1_000;

/** Outlines a document such as Markdown or JSON with its own parser; null for other files. */
export function outlineDocument(path: string, text: string): ({ language: string } & Definitions) | null {
  const ending = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (/^(?:md|markdown|mdx)$/.test(ending)) return { language: "markdown", ...read(headings, text) };
  if (/^(?:json|jsonc|json5)$/.test(ending)) return { language: "json", ...read(jsonKeys, text) };
  if (/^ya?ml$/.test(ending)) return { language: "yaml", ...read(yamlKeys, text) };
  return null;
}

function read(find: (text: string) => OutlineEntry[], text: string): Definitions {
  try {
    return bounded(find(text));
  } catch (error) {
    // The parsers call themselves for each level.
    if (!(error instanceof RangeError)) throw error;
    return { entries: [], problem: "it is nested too deeply" };
  }
}

function bounded(entries: OutlineEntry[]): Definitions {
  return entries.length <= maxEntries
    ? { entries, problem: null }
    : { entries: entries.slice(0, maxEntries), problem: "it exceeds the maximum length of an outline" };
}

/** Headings with their nesting; lines in code blocks do not count. */
function headings(text: string): OutlineEntry[] {
  const lines = text.split("\n");
  const found: OutlineEntry[] = [];
  let fence: string | null = null;
  for (const [index, whole] of lines.entries()) {
    const line = whole.slice(0, maxHeading);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === null) fence = mark;
      else if (mark.startsWith(fence)) fence = null;
      continue;
    }
    if (fence !== null) continue;
    const heading = /^ {0,3}(#{1,6})\s(.*)$/s.exec(line);
    const under = /^ {0,3}(=+|-{2,})\s*$/.exec((lines[index + 1] ?? "").slice(0, maxHeading));
    const level =
      heading?.[1]?.length ?? (under === null || line.trim() === "" || line.startsWith(" ") ? 0 : (under[1] ?? "").startsWith("=") ? 1 : 2);
    if (level === 0 || (heading === null && /^(?:[-*>|]|\d+\.)/.test(line.trim()))) continue;
    const name =
      heading === null
        ? line.trim()
        : (heading[2] ?? "")
            .trim()
            .replace(/(?:^|\s)#+$/, "")
            .trimEnd();
    if (name === "") continue;
    found.push({
      name: name.slice(0, 200),
      kind: "heading",
      startLine: index + 1,
      endLine: lines.length,
      depth: level - 1,
      signature: `${"#".repeat(level)} ${name}`.slice(0, 200),
    });
  }
  for (const [index, entry] of found.entries()) {
    const next = found.slice(index + 1).find(({ depth }) => depth <= entry.depth);
    if (next !== undefined) entry.endLine = next.startLine - 1;
  }
  return found;
}

/** Keys of the first levels; nothing after a syntax error is listed. */
function jsonKeys(text: string): OutlineEntry[] {
  const entries: OutlineEntry[] = [];
  const lineAt = lineFinder(text);
  const visit = (node: Node | undefined, depth: number): void => {
    if (node?.type !== "object" || depth >= maxDepth) return;
    for (const property of node.children ?? []) {
      const [key, value] = property.children ?? [];
      if (key === undefined || typeof key.value !== "string") continue;
      entries.push({
        name: keyName(key.value),
        kind: value?.type ?? "null",
        startLine: lineAt(property.offset),
        endLine: lineAt(property.offset + Math.max(property.length - 1, 0)),
        depth,
        signature: text.slice(property.offset, property.offset + Math.min(property.length, 80)).split("\n", 1)[0] ?? "",
      });
      visit(value, depth + 1);
    }
  };
  visit(parseTree(text, [], { allowTrailingComma: true, disallowComments: false }), 0);
  return entries;
}

/** An empty key is shown as it is written. */
function keyName(key: string): string {
  return key === "" ? '""' : key.slice(0, 200);
}

function lineFinder(text: string): (offset: number) => number {
  const counter = new LineCounter();
  counter.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) counter.addNewLine(at + 1);
  return (offset) => counter.linePos(offset).line;
}

function yamlKeys(text: string): OutlineEntry[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: counter, uniqueKeys: false });
  const entries: OutlineEntry[] = [];
  const visit = (node: unknown, depth: number): void => {
    if (!isMap(node) || depth >= maxDepth) return;
    for (const pair of node.items) {
      if (!isPair(pair) || !isScalar(pair.key)) continue;
      const { value } = pair;
      const kind = isMap(value) ? "object" : isSeq(value) ? "array" : isScalar(value) ? typeof value.value : "null";
      const start = pair.key.range?.[0] ?? 0;
      const end = isMap(value) || isSeq(value) || isScalar(value) ? (value.range?.[1] ?? start) : start;
      const startLine = counter.linePos(start).line;
      entries.push({
        name: keyName(String(pair.key.value)),
        kind,
        startLine,
        endLine: Math.max(counter.linePos(Math.max(end - 1, start)).line, startLine),
        depth,
        signature: (text.slice(start).split("\n", 1)[0] ?? "").slice(0, 80).trim(),
      });
      visit(value, depth + 1);
    }
  };
  if (Array.isArray(documents)) for (const document of documents) visit(document.contents, 0);
  return entries;
}
