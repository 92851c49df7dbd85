import { sep } from "node:path";
import type { SearchMatch } from "../contract/tools.ts";
import type { Governance } from "../governance/governance.ts";
import { baseArgs, runRipgrep } from "./ripgrep.ts";
import { cutLine } from "./text/output-bounds.ts";
import { globFilter } from "./text/glob.ts";

/** Maximum number of files read for `files`. */
const maxFilesSeen = 200_000;
const maxMatchChars = 400;

export interface SearchQuery {
  readonly query: string;
  readonly regex: boolean;
  readonly glob?: string | undefined;
  readonly limit: number;
}

export interface SearchDeps {
  readonly governance: Governance;
  readonly ripgrepPath: string;
  /** Absolute. */
  readonly workspace: string;
}

/**
 * Lines that match, by path and line. Case counts only when the query has capitals. Secret files are left out whole.
 * @throws LancelotError `invalid_params` for a bad pattern, `cancelled`.
 */
export async function searchWorkspace(
  deps: SearchDeps,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<{ items: SearchMatch[]; truncated: boolean }> {
  const accepts = globFilter(query.glob);
  const readable = new Map<string, boolean>();
  const items: SearchMatch[] = [];
  const { stopped } = await runRipgrep({
    ripgrepPath: deps.ripgrepPath,
    cwd: deps.workspace,
    args: [
      ...baseArgs(deps.workspace),
      ...["--sort=path", "--no-heading", "--with-filename", "--line-number", "--null", "--smart-case", "--crlf"],
      ...[`--max-columns=${maxMatchChars}`, "--max-columns-preview", "--max-filesize=20M"],
      ...(query.regex ? [] : ["--fixed-strings"]),
      ...(query.query.includes("\n") || (query.regex && query.query.includes("\\n")) ? ["--multiline"] : []),
      ...["--regexp", query.query, "--", "."],
    ],
    separator: "\n",
    signal,
    onRecord: (record) => {
      const end = record.indexOf("\0");
      const colon = record.indexOf(":", end);
      // Messages about binary files have no line number.
      if (end === -1 || colon === -1) return true;
      const path = record
        .slice(0, end)
        .replace(/^\.[/\\]/, "")
        .split(sep)
        .join("/");
      const line = Number(record.slice(end + 1, colon));
      if (!Number.isInteger(line) || !accepts(path)) return true;
      let allowed = readable.get(path);
      if (allowed === undefined) {
        const resolved = deps.governance.resolvePath(path);
        allowed = resolved.ok && resolved.sensitive !== "secret";
        readable.set(path, allowed);
      }
      if (!allowed) return true;
      if (items.length === query.limit) return false;
      items.push({ path, line, text: cutLine(record.slice(colon + 1).replace(/\r$/, ""), maxMatchChars) });
      return true;
    },
  });
  return { items, truncated: stopped };
}

/** Files whose path contains the query, best first: prefix of the name, then name, then path; short paths first. */
export async function findFiles(deps: SearchDeps, query: string, limit: number, signal: AbortSignal): Promise<string[]> {
  const wanted = query.toLowerCase();
  const found: { path: string; rank: number }[] = [];
  let seen = 0;
  await runRipgrep({
    ripgrepPath: deps.ripgrepPath,
    cwd: deps.workspace,
    args: [...baseArgs(deps.workspace), "--files", "--null"],
    separator: "\0",
    signal,
    onRecord: (record) => {
      const path = record
        .replace(/^\.[/\\]/, "")
        .split(sep)
        .join("/");
      const rank = rankOf(path.toLowerCase(), wanted);
      if (rank !== null) found.push({ path, rank });
      return ++seen < maxFilesSeen;
    },
  });
  found.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return found.slice(0, limit).map(({ path }) => path);
}

function rankOf(path: string, wanted: string): number | null {
  const at = path.lastIndexOf("/") + 1;
  const name = path.slice(at);
  if (name === wanted) return 0;
  if (name.startsWith(wanted)) return 1;
  if (name.includes(wanted)) return 2;
  return path.includes(wanted) ? 3 : null;
}
