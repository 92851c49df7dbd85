import type { TurnDeps } from "../quests/quests.ts";

/** How many windows of a file are read at most. */
const maxWindows = 25;
const windowLines = 400;

/** Reads a file as the task sees it, with its proposed changes, through the execution pipeline. @returns null when it does not exist */
export async function readTaskFile(
  { tools }: Pick<TurnDeps, "tools">,
  path: string,
  { questId, parentId, signal }: { questId: string; parentId: string; signal: AbortSignal },
): Promise<string | null> {
  const lines: string[] = [];
  for (let window = 0; window < maxWindows; window += 1) {
    const { text, isError } = await tools.invoke({
      tool: "read_file",
      args: { path, offset: window * windowLines + 1, limit: windowLines },
      quest: questId,
      parent: parentId,
      actor: "agent",
      mode: "question",
      signal,
    });
    if (isError) return window === 0 ? null : lines.join("\n");
    const numbered = text.split("\n").filter((line) => /^\s{0,10}\d{1,9}[\t:| ]/.test(line));
    lines.push(...(numbered.length === 0 ? [text] : numbered.map((line) => line.replace(/^\s{0,10}\d{1,9}[\t:| ] ?/, ""))));
    if (numbered.length < windowLines) break;
  }
  return lines.join("\n");
}
