import { LancelotError } from "../../contract/errors.ts";
import { symbolTool, findName, type Place, readLocations, wordPattern } from "../symbol-locations.ts";
import { defineTool, type Scope } from "../tool.ts";
import { resolveFile, searchWorkspace } from "../../workspace/workspace.ts";

/** Most files that are outlined to find a definition without the editor. */
const outlinedFiles = 40;

export const goToDefinition = defineTool({
  name: "go_to_definition",
  description:
    "Find the definition of a function, class, method, type or variable with the editor's language service. Give its name and a file (and line) that uses it. Without an editor, outlines are searched for the name, and the answer says so. To list all definitions of a file use get_file_outline.",
  ...symbolTool,
  title: ({ name, path }) => `Definition of ${name} in ${path}`,
  async plan({ name, path, line }, scope) {
    const file = resolveFile(scope, path);
    const at = await findName(scope, file, name, line);
    if (scope.askEditor !== null && at !== null) {
      const { items, answered } = await scope.askEditor("definition", { path: file.display, ...at });
      const places = answered ? await readLocations(scope, items, 20) : [];
      if (places.length > 0) return answer(places, "", "editor");
    }
    const places = await byOutlines(scope, name);
    if (places.length === 0)
      throw new LancelotError(
        "not_found",
        `No definition of ${name} was found in the workspace. It may come from a library. Try search_workspace.`,
      );
    return answer(places, `[Found in outlines, without the language service: check that it is the right one]\n`, "outline");
  },
});

function answer(places: readonly Place[], head: string, source: string) {
  const lines = places.map(({ path, line, text }) => `${path}:${String(line)}: ${text}`);
  return {
    kind: "answer" as const,
    text: head + lines.join("\n"),
    hint: "Use read_file to read the definition.",
    outputs: { count: places.length, source },
  };
}

async function byOutlines(scope: Scope, name: string): Promise<Place[]> {
  const { items } = await searchWorkspace(scope, { query: wordPattern(name), regex: true, limit: 2_000 }, scope.call.signal);
  const paths = [...new Set(items.flatMap(({ path, text }) => (text.includes(name) && scope.outliner.reads(path) ? [path] : [])))];
  const places: Place[] = [];
  for (const path of paths.slice(0, outlinedFiles)) {
    scope.call.signal.throwIfAborted();
    const { text } = await scope.files.current(resolveFile(scope, path)).catch(() => ({ text: null }));
    if (text === null) continue;
    const { entries } = await scope.outliner.outline(path, text).catch(() => ({ entries: [] }));
    for (const entry of entries)
      if (entry.name === name || entry.name.endsWith(`::${name}`) || entry.name.endsWith(`.${name}`))
        places.push({ path, line: entry.startLine, text: `${entry.kind} ${entry.signature}` });
  }
  return places.slice(0, 50);
}
