import * as z from "zod";
import { resolveFile, ripgrepProvider, searchWorkspace as search } from "../../workspace/workspace.ts";
import { count, defineTool, fileStep, flag } from "../tool.ts";

const defaultLimit = 100;

export const searchWorkspace = defineTool({
  name: "search_workspace",
  description:
    "Find lines in workspace files: fixed text, or a regular expression (regex: true, Rust syntax). Case matters only if the query has capital letters. Ignored and secret files are excluded. Narrow with glob. To list file names use list_files.",
  args: z.strictObject({
    query: z.string().min(1).max(1000).describe("Text or regular expression to find"),
    regex: flag().optional().describe("The query is a regular expression"),
    glob: z.string().min(1).max(500).optional().describe("Only files whose path or name matches, such as *.ts or src/**"),
    limit: count(1, 400).optional().describe("Maximum number of matches. Default: 100"),
  }),
  capability: "file_ops",
  action: "search",
  baseTier: "T0",
  actionType: "tool_call",
  provider: ripgrepProvider,
  title: ({ query, glob }) =>
    `Search for ${query.length > 60 ? `${query.slice(0, 60)}…` : query}${glob === undefined ? "" : ` in ${glob}`}`,
  reads: (_args, scope) => [fileStep("search", resolveFile(scope, "."))],
  async plan({ query, regex, glob, limit = defaultLimit }, scope) {
    const { items, truncated } = await search(scope, { query, regex: regex ?? false, glob, limit }, scope.call.signal);
    const { quest: questId } = scope.call;
    const open = questId === null ? [] : scope.changes.review.list({ questId, open: true, limit: 100 });
    const unseen =
      open.length === 0
        ? ""
        : `\n[not searched: your proposed edits of ${open.map(({ path }) => path).join(", ")}; use read_file for those]`;
    if (items.length === 0) {
      const where = glob === undefined ? "the workspace" : `files that match ${glob}`;
      return { kind: "answer", text: `No matches in ${where}.${unseen}`, outputs: { count: 0 } };
    }
    const lines = items.map(({ path, line, text }) => `${path}:${line}: ${text}`);
    const more = truncated ? `\n[stopped at ${items.length} matches: narrow the query or the glob, or raise limit]` : "";
    return {
      kind: "answer",
      text: lines.join("\n") + more + unseen,
      hint: "Narrow the query or the glob.",
      outputs: { count: items.length, files: new Set(items.map(({ path }) => path)).size, truncated },
    };
  },
});
