import { LancelotError } from "../../contract/errors.ts";
import { decodeText, fileProvider, maxEditBytes, readWhole, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep } from "../tool.ts";
import { Argv, titleOf } from "./repl-command.ts";
import { type OptionTable, parseOptions, wrong } from "./options.ts";

const table: OptionTable = { name: "cat", flags: "n", long: { number: "n" } };

export const cat = defineTool({
  name: "repl.cat",
  description: "Shows text files.",
  args: Argv,
  capability: "file_ops",
  action: "read",
  baseTier: "T0",
  actionType: "tool_call",
  provider: fileProvider,
  title: titleOf("cat"),
  reads: ({ argv }, scope) => filesOf(argv).map((path) => fileStep("read", resolveFile(scope, path))),
  async plan({ argv }, scope) {
    const { on } = parseOptions(argv, table);
    let text = "";
    for (const path of filesOf(argv)) {
      const file = resolveFile(scope, path);
      if (file.type === "directory") throw new LancelotError("invalid_params", `cat: ${path} is a folder.`);
      const read = await readWhole(file, maxEditBytes);
      if (read === null) throw new LancelotError("not_found", `cat: ${path} does not exist.`);
      const decoded = decodeText(read.bytes);
      if (decoded === null) throw new LancelotError("invalid_params", `cat: ${path} is not a text file.`);
      text += decoded.text;
    }
    const lines = on.has("n") ? numbered(text) : text;
    return { kind: "answer", text: lines, hint: "read_file can continue from a line.", outputs: { bytes: Buffer.byteLength(text) } };
  },
});

function filesOf(argv: readonly string[]): readonly string[] {
  const { operands } = parseOptions(argv, table);
  if (operands.length === 0) throw wrong(table, "Name a file. Standard input is not supported.");
  return operands;
}

function numbered(text: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .join("\n");
}
