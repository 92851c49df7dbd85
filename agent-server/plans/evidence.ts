import type { Problem } from "../context/context.ts";
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
  /** Errors that the editor shows in changed files, and did not show before the plan. */
  readonly newErrors: readonly Problem[];
  /** The text of a file as the task sees it; null when it does not exist. */
  readFile(path: string): Promise<string | null>;
}

/** What the editor showed before a plan and shows after it. */
export interface ErrorsOfEditor {
  readonly before: readonly Problem[];
  readonly after: readonly Problem[];
}

/** Reads the evidence of a quest from its tool calls. */
export function readEvidence(messages: readonly Message[], readFile: Evidence["readFile"], errors: ErrorsOfEditor | null = null): Evidence {
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
  const changed = new Set(edits.map(({ path }) => path));
  const newErrors = errors === null ? [] : addedErrors(errors).filter(({ path }) => changed.has(path));
  return { commands, edits, newErrors, readFile };
}

/** Errors without an equal one before. The line does not count: an edit above moves it. */
function addedErrors({ before, after }: ErrorsOfEditor): Problem[] {
  const keyOf = ({ path, message }: Problem): string => JSON.stringify([path, message]);
  const known = new Map<string, number>();
  for (const problem of before) known.set(keyOf(problem), (known.get(keyOf(problem)) ?? 0) + 1);
  return after.filter((problem) => {
    const left = known.get(keyOf(problem)) ?? 0;
    known.set(keyOf(problem), left - 1);
    return left <= 0;
  });
}

const writing: ReadonlySet<string> = new Set(["edit_file", "write_file", "apply_patch", "delete_file"]);

function pathOf({ args }: ToolPart): string {
  return typeof args["path"] === "string" ? plainPath(args["path"]) : "";
}

/** A path relative to the workspace as the host spells it, however the model or a plan does. */
export function plainPath(path: string): string {
  return path.replaceAll("\\", "/").replace(/^\.\//, "");
}
