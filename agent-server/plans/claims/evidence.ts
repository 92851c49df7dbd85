import type { Change } from "../../contract/changes.ts";
import type { ToolPart } from "../../contract/chat.ts";
import type { AnswerEvidence } from "../../quests/quests.ts";
import type { TestReport } from "../../workspace/workspace.ts";

/** Reads the report of a test runner from its output; null without one. */
export type ReadTestReport = (output: string) => TestReport | null;

/** A restore of files by the user. */
export interface Restored {
  readonly paths: readonly string[];
  /** ISO 8601. */
  readonly at: string;
}

/** A command that ran, with its result. */
export interface RanCommand {
  readonly text: string;
  readonly succeeded: boolean;
  readonly receiptId: string | null;
  /** Null when it ran no tests, or its output has no report. */
  readonly report: TestReport | null;
  readonly ranTests: boolean;
  /** True when an edit after it changed a file that tests may depend on. */
  readonly isOutdated: boolean;
  readonly output: string;
}

export type FileState = "changed" | "deleted" | "rejected" | "undone";

/** What is recorded of a task, in the form in which claims are compared with it. */
export interface Recorded {
  readonly files: ReadonlyMap<string, FileState>;
  /** True when a successful action other than a read or a command changed something: a branch, a memory, a download. */
  readonly hasOtherEffect: boolean;
  readonly commands: readonly RanCommand[];
  /** Successful calls. */
  readonly calls: readonly ToolPart[];
  readonly deniedCalls: readonly ToolPart[];
  /** Texts in which a path or an address shows that it was looked at. */
  readonly seen: readonly string[];
  readonly hasLooked: boolean;
}

const noEffect: ReadonlySet<string> = new Set([
  ...[
    "run_command",
    "fetch_url",
    "github_search",
    "command_output",
    "stop_command",
    "ask_owner",
    "update_plan",
    "report_outcome",
    "http_post",
  ],
]);

/** Documents, on which tests do not depend. */
const document = /\.(?:md|mdx|txt|rst|adoc)$|(?:^|\/)(?:LICENSE|CHANGELOG|README)$/i;

/** Programs that show a report without running a test. */
const prints = /^\s*(?:echo|printf|cat|head|tail|grep|less|more|sed|awk)(?=\s|$)/;

/** Collects what is recorded of a task from its tool cards, its proposed changes and the restores of its files. */
export function recordedOf(
  { messages, changes }: Pick<AnswerEvidence, "messages" | "changes">,
  deps: { readReport: ReadTestReport; runsTests: (command: string, cwd: string) => boolean; restores: readonly Restored[] },
): Recorded {
  const dated = messages.flatMap((message) =>
    message.parts.flatMap((part) => (part.type === "tool" ? [{ part, at: message.createdAt }] : [])),
  );
  const parts = dated.map(({ part }) => part);
  const calls = parts.filter(({ status }) => status === "success");
  const files = new Map<string, { state: FileState; at: string }>();
  for (const { part, at } of dated) for (const [path, state] of filesOf(part, changes)) files.set(path, { state, at });
  for (const change of changes) {
    const state = stateOf(change);
    if (state === null) continue;
    const known = files.get(change.path);
    if (known === undefined || state !== "rejected" || !hasOpenSibling(change, changes))
      files.set(change.path, { state, at: change.createdAt });
  }
  for (const [path, { state, at }] of files) {
    const count = deps.restores.filter((restore) => restore.at >= at && restore.paths.includes(path)).length;
    if (count % 2 === 1 && (state === "changed" || state === "deleted")) files.set(path, { state: "undone", at });
  }
  const isInForce = (path: string): boolean => ["changed", "deleted"].includes(files.get(path)?.state ?? "");
  const lastEdit = parts.findLastIndex(
    (part) => part.tool !== "run_command" && editedBy(part, changes).some((path) => isInForce(path) && !document.test(path)),
  );
  const commands = parts.flatMap((part, at): RanCommand[] => {
    const ran = commandOf(part);
    if (ran === null) return [];
    const report = prints.test(ran.text) ? null : deps.readReport(ran.output);
    return [{ ...ran, report, ranTests: report !== null || deps.runsTests(ran.text, ran.cwd), isOutdated: at < lastEdit }];
  });
  const attached = messages.flatMap((message) => message.parts.flatMap((part) => (part.type === "file" ? [part.path] : [])));
  const pasted = messages
    .filter(({ role }) => role === "user")
    .flatMap(({ parts: own }) => own.flatMap((part) => (part.type === "text" ? [part.text] : [])));
  const looked = calls.filter(({ tool }) => tool !== "ask_owner" && tool !== "update_plan" && tool !== "report_outcome");
  // The host ran a memory command in a message of the user.
  const ranMemoryCommand = messages.some((message) =>
    message.parts.some((part) => part.type === "notice" && part.action === "open_memory"),
  );
  return {
    files: new Map([...files].map(([path, { state }]) => [path, state])),
    hasOtherEffect:
      ranMemoryCommand ||
      calls.some(
        ({ tool, tier }) =>
          tier !== null && tier !== "T0" && !noEffect.has(tool) && !tool.startsWith("edit_") && !tool.startsWith("write_"),
      ),
    commands,
    calls,
    deniedCalls: parts.filter(({ status }) => status === "denied" || status === "failure" || status === "cancelled"),
    seen: [...looked.flatMap(({ args, output, title }) => [JSON.stringify(args), title, output ?? ""]), ...attached],
    hasLooked: looked.length > 0 || attached.length > 0 || pasted.some((text) => text.length > 400),
  };
}

function hasOpenSibling({ path }: Change, changes: readonly Change[]): boolean {
  return changes.some(
    (other) => other.path === path && (other.status === "pending" || other.status === "accepted" || other.status === "mixed"),
  );
}

function stateOf({ status, kind }: Change): FileState | null {
  if (status === "superseded") return null;
  if (status === "rejected") return "rejected";
  return kind === "delete" ? "deleted" : "changed";
}

/** The files that a card changed itself; those of proposals are decided by the proposals. */
function filesOf(part: ToolPart, changes: readonly Change[]): [string, FileState][] {
  const touched = (part.touched?.files ?? []).flatMap(({ path, kind, putBack }): [string, FileState][] =>
    putBack === true ? [] : [[path, kind === "deleted" ? "deleted" : "changed"]],
  );
  if (part.status !== "success" || part.tier === "T0" || noEffect.has(part.tool)) return touched;
  if (part.changeId !== null && changes.some(({ id }) => id === part.changeId)) return touched;
  const { path, patch, to } = part.args as { path?: unknown; patch?: unknown; to?: unknown };
  const named = [path, to].filter((value) => typeof value === "string");
  const state: FileState = part.tool === "delete_file" ? "deleted" : "changed";
  const patched =
    typeof patch === "string"
      ? [...patch.matchAll(/^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(\S.*)$/gm)].map(([, file]) => file ?? "")
      : [];
  return [...touched, ...[...named, ...patched].map((file): [string, FileState] => [file, state])];
}

/** The files that a successful card changed, itself or by its proposal. */
function editedBy(part: ToolPart, changes: readonly Change[]): string[] {
  if (part.status !== "success") return [];
  const proposed = changes.filter(({ id }) => id === part.changeId).map(({ path }) => path);
  return [...filesOf(part, changes).map(([path]) => path), ...proposed];
}

function commandOf(part: ToolPart): (Omit<RanCommand, "ranTests" | "report" | "isOutdated"> & { cwd: string }) | null {
  const { command } = part;
  const args = part.args as { command?: unknown; cwd?: unknown };
  const text = command?.text ?? (typeof args.command === "string" ? args.command : null);
  if (text === null || part.status === "denied" || part.status === "cancelled" || part.status === "queued" || part.status === "waiting")
    return null;
  if (
    command !== undefined &&
    command.exitCode === null &&
    command.ended === null &&
    command.background === undefined &&
    part.status !== "success"
  )
    return null;
  const exitCode = command?.exitCode ?? null;
  const succeeded = exitCode === null ? part.status === "success" && (command === undefined || command.ended === null) : exitCode === 0;
  const cwd = command?.cwd ?? (typeof args.cwd === "string" ? args.cwd : ".");
  return { text, cwd, succeeded, receiptId: part.receiptId, output: part.output ?? "" };
}
