import { LancelotError } from "../../contract/errors.ts";
import { ExportEnd, ExportHeader, formatVersion, ItemLine, type ParsedLine, QuarantineLine } from "./export-lines.ts";
import { parseMarkdown } from "./memory-markdown.ts";
import { factsOf, GraphLine } from "./knowledge-graph-lines.ts";

/** Maximum lines of an imported file. */
export const maxLines = 100_000;

/**
 * Parses an export, a handwritten file, or the graph of the reference memory server.
 * @throws LancelotError `invalid_params` for another format, a truncated file or a newer version; `too_large`
 */
export function parseImport(text: string): ParsedLine[] {
  const first = text.split("\n", 50).find((line) => line.trim() !== "") ?? "";
  if (first === "") throw new LancelotError("invalid_params", "The file is empty, so nothing was imported.");
  const parsed = first.trimStart().startsWith("{") ? parseJsonLines(text) : parseMarkdown(text);
  if (parsed.length > maxLines) {
    throw new LancelotError("too_large", `The file holds ${String(parsed.length)} lines; the limit is ${String(maxLines)}. Split it.`);
  }
  if (!parsed.some((line) => "item" in line || "quarantine" in line)) {
    throw new LancelotError(
      "invalid_params",
      "The file has nothing to import. It must be an export of memory (JSON lines or Markdown), or a memory.jsonl of the reference memory server.",
    );
  }
  return parsed;
}

function parseJsonLines(text: string): ParsedLine[] {
  const parsed: ParsedLine[] = [];
  let own = false;
  let ended = false;
  text.split("\n").forEach((raw, index) => {
    const line = index + 1;
    if (raw.trim() === "") return;
    const value = parseJson(raw);
    if (value === undefined) {
      parsed.push({ line, reason: "It is not JSON." });
      return;
    }
    const header = ExportHeader.safeParse(value).data;
    if (header !== undefined) {
      if (header.version > formatVersion)
        throw new LancelotError("invalid_params", "The file was written by a newer version of Lancelot. Update Lancelot to import it.");
      own = true;
      return;
    }
    if (ExportEnd.safeParse(value).success) {
      ended = true;
      return;
    }
    parsed.push(...linesOf(line, value));
  });
  if (own && !ended) throw new LancelotError("invalid_params", "The file is truncated. Nothing was imported.");
  return parsed;
}

function linesOf(line: number, value: unknown): ParsedLine[] {
  const graph = GraphLine.safeParse(value).data;
  if (graph !== undefined) return factsOf(line, graph);
  if (typeof value === "object" && value !== null) {
    // History is informational.
    if ("commit" in value || "image" in value) return [];
    if ("quarantine" in value) {
      const { success, data } = QuarantineLine.safeParse(value);
      if (!success) return [{ line, reason: "The pending edit cannot be read." }];
      return data.quarantine.status === "pending" ? [{ line, quarantine: data.quarantine }] : [];
    }
  }
  const item = ItemLine.safeParse(value);
  if (item.success) return [{ line, item: item.data }];
  const [issue] = item.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "it" : issue.path.join(".");
  return [{ line, reason: `It is not a memory item: ${where} is invalid.` }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
