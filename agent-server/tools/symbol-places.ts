import * as z from "zod";
import type { EditorResult } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import { cutLine, type ResolvedFile, resolveFile } from "../workspace/workspace.ts";
import { count, fileStep, PathArgument, type Scope } from "./tool.ts";

/** A place in the workspace with its line. Lines from 1. */
export interface Place {
  path: string;
  line: number;
  text: string;
}

/** What the tools share that look where a name stands: their arguments, and what is asked of the gate. */
export const aboutName = {
  args: z.strictObject({
    name: z.string().min(1).max(200).describe("The name as it stands in the code"),
    path: PathArgument.describe("A file that has it, relative to the workspace"),
    line: count(1, 10_000_000).optional().describe("Line where it stands, from 1; the first that has it if left out"),
  }),
  capability: "file_ops",
  action: "search",
  baseTier: "T0",
  actionType: "env_query",
  provider: { name: "editor", version: "1" },
  looks: ({ path }: { path: string }, scope: Scope) => [
    fileStep("read", resolveFile(scope, path)),
    fileStep("search", resolveFile(scope, ".")),
  ],
} as const;

/** Files whose lines are shown; of the others the places alone. */
const shownFiles = 60;
const lineCharacters = 200;

/** Where a name stands: in the line that is given, or the first line that has it. Null when it does not. */
export async function findName(
  scope: Scope,
  file: ResolvedFile,
  name: string,
  line: number | undefined,
): Promise<{ line: number; column: number } | null> {
  if (!file.inside) throw new LancelotError("invalid_params", "The editor knows files of the workspace only.");
  const { text } = await scope.files.current(file);
  if (text === null) throw new LancelotError("not_found", `${file.display} does not exist. Look for it with search_workspace.`);
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

/** Places as the owner may see them: inside the workspace, no secrets, each line once, with its text. */
export async function readPlaces(scope: Scope, items: EditorResult<"references">["items"], limit: number): Promise<Place[]> {
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

/** Null: not to be named. */
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
