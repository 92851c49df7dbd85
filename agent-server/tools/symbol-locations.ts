import * as z from "zod";
import type { EditorResult } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import { cutLine, type ResolvedFile, resolveFile } from "../workspace/workspace.ts";
import { count, fileStep, PathArgument, type Scope } from "./tool.ts";

/** A location in the workspace with the text of its line; lines from 1. */
export interface Place {
  path: string;
  line: number;
  text: string;
}

/** The arguments and authorization steps that go_to_definition and find_references share. */
export const symbolTool = {
  args: z.strictObject({
    name: z.string().min(1).max(200).describe("The name as written in the code"),
    path: PathArgument.describe("A file that contains the name, relative to the workspace"),
    line: count(1, 10_000_000).optional().describe("Line that contains the name, from 1. Default: the first such line"),
  }),
  capability: "file_ops",
  action: "search",
  baseTier: "T0",
  actionType: "env_query",
  provider: { name: "editor", version: "1" },
  reads: ({ path }: { path: string }, scope: Scope) => [
    fileStep("read", resolveFile(scope, path)),
    fileStep("search", resolveFile(scope, ".")),
  ],
} as const;

/** Most files whose lines are shown; for further files only the locations are shown. */
const shownFiles = 60;
const lineCharacters = 200;

/** The position of a name in the given line, or in the first line that contains it; null when there is none. */
export async function findName(
  scope: Scope,
  file: ResolvedFile,
  name: string,
  line: number | undefined,
): Promise<{ line: number; column: number } | null> {
  if (!file.inside) throw new LancelotError("invalid_params", "The editor only knows files in the workspace.");
  const { text } = await scope.files.current(file);
  if (text === null) throw new LancelotError("not_found", `${file.display} does not exist. Use search_workspace to find it.`);
  const lines = text.split(/\r\n|\r|\n/);
  const at = line === undefined ? lines.findIndex((one) => columnOf(one, name) > 0) : line - 1;
  const column = columnOf(lines[at] ?? "", name);
  return column > 0 ? { line: at + 1, column } : null;
}

/** Column of a name as a whole word, from 1; 0 when it is not there. */
export function columnOf(line: string, name: string): number {
  const word = /[\p{L}\p{N}_$]/u;
  for (let at = line.indexOf(name); at !== -1; at = line.indexOf(name, at + 1)) {
    if (!word.test(line[at - 1] ?? " ") && !word.test(line[at + name.length] ?? " ")) return at + 1;
  }
  return 0;
}

/** The locations inside the workspace, without secret files, each line once with its text. */
export async function readLocations(scope: Scope, items: EditorResult<"references">["items"], limit: number): Promise<Place[]> {
  const texts = new Map<string, string[] | null>();
  const places = new Map<string, Place>();
  for (const { path, line } of items.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))) {
    if (places.size >= limit) break;
    let lines = texts.get(path);
    if (lines === undefined) {
      lines = await readLines(scope, path, texts.size < shownFiles);
      texts.set(path, lines);
    }
    if (lines !== null)
      places.set(`${path}:${String(line)}`, { path, line, text: cutLine((lines[line - 1] ?? "").trim(), lineCharacters) });
  }
  return [...places.values()];
}

/** Null: the file must not be named. */
async function readLines(scope: Scope, path: string, read: boolean): Promise<string[] | null> {
  const resolved = scope.governance.resolvePath(path);
  if (!resolved.ok || !resolved.inside || resolved.sensitive === "secret") return null;
  if (!read) return [];
  const { text } = await scope.files.current(resolveFile(scope, path)).catch(() => ({ text: null }));
  return (text ?? "").split(/\r\n|\r|\n/);
}

/** A regular expression for ripgrep that finds a name as a whole word. */
export function wordPattern(name: string): string {
  const escaped = name.replaceAll(/[\\^$.*+?()[\]{}|#&~-]/g, String.raw`\$&`);
  const edge = /[\p{L}\p{N}_]/u;
  return `${edge.test(name[0] ?? "") ? String.raw`\b` : ""}${escaped}${edge.test(name.at(-1) ?? "") ? String.raw`\b` : ""}`;
}
