import { symbolTool, findName, readLocations, wordPattern } from "../symbol-locations.ts";
import { defineTool, type Scope } from "../tool.ts";
import { resolveFile, searchWorkspace } from "../../workspace/workspace.ts";

const limit = 200;

export const findReferences = defineTool({
  name: "find_references",
  description:
    "Find every use of a function, class, method or variable with the editor's language service, for example before you rename it. Give its name and a file (and line) that contains it. Without a language service, the name is searched as a word, and the answer says so.",
  ...symbolTool,
  title: ({ name, path }) => `References of ${name} in ${path}`,
  async plan({ name, path, line }, scope) {
    const file = resolveFile(scope, path);
    const at = await findName(scope, file, name, line);
    let why = "no editor is connected";
    if (scope.askEditor !== null && at !== null) {
      const { items, truncated, answered } = await scope.askEditor("references", { path: file.display, ...at });
      const places = answered ? await readLocations(scope, items, limit) : [];
      if (places.length > 0) {
        const lines = places.map((place) => `${place.path}:${String(place.line)}: ${place.text}`);
        const more = truncated || places.length >= limit ? `\n[stopped at ${String(places.length)}]` : "";
        return { kind: "answer", text: lines.join("\n") + more, outputs: { count: places.length, source: "editor" } };
      }
      why = answered ? "the language service found none" : "the language service did not answer";
    } else if (at === null) why = `${file.display}${line === undefined ? "" : `:${String(line)}`} does not have it`;
    return bySearch(scope, name, why);
  },
});

async function bySearch(scope: Scope, name: string, why: string) {
  const query = { query: wordPattern(name), regex: true, limit };
  const { items, truncated } = await searchWorkspace(scope, query, scope.call.signal);
  const found = items.filter(({ text }) => text.includes(name));
  const head = `[Searched as a word, because ${why}: unrelated symbols of the same name are included]`;
  const lines = found.map(({ path, line, text }) => `${path}:${String(line)}: ${text}`);
  return {
    kind: "answer" as const,
    text:
      found.length === 0
        ? `The word ${name} does not occur in the workspace.`
        : [head, ...lines, ...(truncated ? ["[more results were left out]"] : [])].join("\n"),
    hint: "Narrow it with search_workspace and a glob.",
    outputs: { count: found.length, source: "search" },
  };
}
