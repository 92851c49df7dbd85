import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Stats } from "node:fs";
import { LancelotError } from "../../contract/errors.ts";
import { fileProvider, type ResolvedFile, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep, type Scope } from "../tool.ts";
import { listFolder, typeLetter, walk } from "./entries.ts";
import { type OptionTable, type Options, parseOptions } from "./options.ts";
import { Argv, hint, titleOf } from "./repl-command.ts";

const table: OptionTable = {
  name: "ls",
  flags: "1aAlRrtShdFp",
  long: { all: "a", "almost-all": "A", recursive: "R", reverse: "r", "human-readable": "h", directory: "d" },
};
const maxLines = 400;

const pathsOf = ({ operands }: Options): readonly string[] => (operands.length === 0 ? ["."] : operands);

export const ls = defineTool({
  name: "repl.ls",
  description: "Lists folders.",
  args: Argv,
  capability: "file_ops",
  action: "list",
  baseTier: "T0",
  actionType: "tool_call",
  provider: fileProvider,
  title: titleOf("ls"),
  reads: ({ argv }, scope) => pathsOf(parseOptions(argv, table)).map((path) => fileStep("list", resolveFile(scope, path))),
  async plan({ argv }, scope) {
    const options = parseOptions(argv, table);
    const paths = pathsOf(options);
    const blocks: string[] = [];
    for (const path of paths) {
      const file = resolveFile(scope, path);
      if (file.type === "missing") throw new LancelotError("not_found", `ls: ${path} does not exist.`);
      const folder = file.type === "directory" && !options.on.has("d");
      const lines = folder ? await folderLines(scope, file, options) : [line(path, await lstat(file.absolute), options)];
      blocks.push((paths.length > 1 && folder ? `${path}:\n` : "") + lines.join("\n"));
    }
    return { kind: "answer", text: blocks.join("\n\n"), hint, outputs: { count: blocks.length } };
  },
});

async function folderLines(scope: Scope, folder: ResolvedFile, options: Options): Promise<string[]> {
  const visible = (name: string): boolean => options.on.has("a") || options.on.has("A") || !name.startsWith(".");
  if (options.on.has("R")) {
    const lines: string[] = [];
    const { cut } = await walk(scope, folder, 50, ({ shown, stats, depth }) => {
      if (depth > 0 && lines.length <= maxLines && shown.split("/").slice(-depth).every(visible)) lines.push(line(shown, stats, options));
    });
    return cut ? [...lines, "[more results were left out: name a subfolder]"] : lines;
  }
  const found: { name: string; stats: Stats }[] = [];
  for (const { name } of await listFolder(folder)) {
    if (!visible(name)) continue;
    const stats = await lstat(join(folder.absolute, name)).catch(() => null);
    if (stats !== null) found.push({ name, stats });
  }
  if (options.on.has("t")) found.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
  if (options.on.has("S")) found.sort((a, b) => b.stats.size - a.stats.size);
  if (options.on.has("r")) found.reverse();
  return found.map(({ name, stats }) => line(name, stats, options));
}

function line(name: string, stats: Stats, options: Options): string {
  const kind = typeLetter(stats);
  const mark = kind === "d" && (options.on.has("F") || options.on.has("p")) ? "/" : kind === "l" && options.on.has("F") ? "@" : "";
  // Control characters are replaced, so that each name stays on one line.
  const shown = `${name.replace(/\p{Cc}/gu, "?")}${mark}`;
  if (!options.on.has("l")) return shown;
  const rights = Array.from((stats.mode & 0o777).toString(2).padStart(9, "0"))
    .map((bit, at) => (bit === "1" ? "rwx".charAt(at % 3) : "-"))
    .join("");
  const size = options.on.has("h") ? human(stats.size) : String(stats.size);
  return `${kind === "f" ? "-" : kind === "o" ? "?" : kind}${rights} ${size.padStart(9)} ${stats.mtime.toISOString().slice(0, 16).replace("T", " ")} ${shown}`;
}

function human(bytes: number): string {
  const step = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return step === 0 ? String(bytes) : `${(bytes / 1024 ** step).toFixed(1)}${"KMGT".charAt(step - 1)}`;
}
