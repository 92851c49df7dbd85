import { aboutName, findName, readPlaces, wordPattern } from "../symbol-places.ts";
import { defineTool, type Scope } from "../tool.ts";
import { resolveFile, searchWorkspace } from "../../workspace/workspace.ts";

const limit = 200;

export const findReferences = defineTool({
  name: "find_references",
  description:
    "Every place that uses a function, class, method or variable, by the editor's language service: before you rename or change one. Give its name and a file (and line) where it stands. Without an editor, or where its language service does not answer, the name is searched as a word, and the answer says so.",
  ...aboutName,
  title: ({ name, path }) => `References of ${name} in ${path}`,
  async plan({ name, path, line }, scope) {
    const file = resolveFile(scope, path);
    const at = await findName(scope, file, name, line);
    let why = "there is no editor here";
    if (scope.askEditor !== null && at !== null) {
      const { items, truncated, answered } = await scope.askEditor("references", { path: file.display, ...at });
      const places = answered ? await readPlaces(scope, items, limit) : [];
      if (places.length > 0) {
        const lines = places.map((place) => `${place.path}:${String(place.line)}: ${place.text}`);
        const more = truncated || places.length >= limit ? `\n[stopped at ${String(places.length)}]` : "";
        return { kind: "answer", text: lines.join("\n") + more, outputs: { count: places.length, source: "editor" } };
      }
      why = answered ? "the language service knows none" : "the language service did not answer";
    } else if (at === null) why = `${file.display}${line === undefined ? "" : `:${String(line)}`} does not have it`;
    return bySearch(scope, name, why);
  },
});

async function bySearch(scope: Scope, name: string, why: string) {
  const query = { query: wordPattern(name), regex: true, limit };
  const { items, truncated } = await searchWorkspace(scope, query, scope.call.signal);
  const found = items.filter(({ text }) => text.includes(name));
  const head = `[Searched as a word, since ${why}: other things of the same name are among them]`;
  const lines = found.map(({ path, line, text }) => `${path}:${String(line)}: ${text}`);
  return {
    kind: "answer" as const,
    text:
      found.length === 0
        ? `Nothing in the workspace has the word ${name}.`
        : [head, ...lines, ...(truncated ? ["[there are more]"] : [])].join("\n"),
    hint: "Narrow it with search_workspace and a glob.",
    outputs: { count: found.length, source: "search" },
  };
}
