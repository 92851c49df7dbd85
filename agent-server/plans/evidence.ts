import type { Message, ToolPart } from "../contract/chat.ts";

/** A command that ran; `order` counts the calls of the quest. */
export interface RanCommand {
  readonly text: string;
  readonly exitCode: number | null;
  readonly output: string;
  readonly order: number;
  readonly receiptId: string | null;
}

/** What the calls of a quest left as evidence, oldest first. Only the host writes it: nothing in it is a claim of the model. */
export interface Evidence {
  readonly commands: readonly RanCommand[];
  /** Successful changes of files. */
  readonly edits: readonly { path: string; order: number }[];
  /** The text of a file as the task sees it; null when it does not exist. */
  readFile(path: string): Promise<string | null>;
}

/** Reads the evidence of a quest from its tool calls. */
export function readEvidence(messages: readonly Message[], readFile: Evidence["readFile"]): Evidence {
  const calls = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  const commands: RanCommand[] = [];
  const edits: { path: string; order: number }[] = [];
  calls.forEach((part, order) => {
    const { command, args, touched } = part;
    if (command !== undefined && part.status !== "denied" && part.status !== "cancelled") {
      const text = typeof args["command"] === "string" ? args["command"] : command.text;
      commands.push({ text, exitCode: command.exitCode, output: part.output ?? "", order, receiptId: part.receiptId });
    }
    for (const { path } of touched?.files ?? []) edits.push({ path, order });
    if ((part.proposed?.changeIds.length ?? 0) > 0 && touched === undefined) edits.push({ path: "", order });
    if (part.status === "success" && (part.changeId !== null || writing.has(part.tool))) edits.push({ path: pathOf(part), order });
  });
  return { commands, edits, readFile };
}

const writing: ReadonlySet<string> = new Set(["edit_file", "write_file", "apply_patch", "delete_file"]);

function pathOf({ args }: ToolPart): string {
  return typeof args["path"] === "string" ? args["path"] : "";
}
