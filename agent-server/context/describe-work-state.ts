import { visibleText } from "../contract/visible-text.ts";
import type { RepositorySummary } from "../workspace/workspace.ts";
import { fence } from "./fence.ts";

export interface Problem {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly severity: "error" | "warning";
  readonly message: string;
}

/** What the user's editor and repository show while they send a message. Names and texts come from the repository. */
export interface WorkState {
  /** Null without a repository. */
  readonly git: RepositorySummary | null;
  readonly editors: readonly { readonly path: string; readonly active: boolean; readonly visible: boolean }[];
  /** How many more files are open. */
  readonly moreEditors: number;
  /** `text`: null when it is empty, too long, or already attached to the message. */
  readonly selection: {
    readonly path: string;
    readonly startLine: number;
    readonly endLine: number;
    readonly text: string | null;
  } | null;
  /** Errors and warnings of the files that are open or that the task changed, errors first. */
  readonly problems: readonly Problem[];
}

const maxName = 200;
const maxMessage = 300;
const shownProblems = 5;

/** Describes the state in a few lines of bounded length; null when there is nothing to say. */
export function describeWorkState({ git, editors, moreEditors, selection, problems }: WorkState): string | null {
  const lines = [
    ...(git === null ? [] : [describeRepository(git)]),
    ...(editors.length === 0
      ? []
      : [
          `Open in the editor: ${editors.map(({ path, active, visible }) => `${quoted(path)}${active ? " (active)" : visible ? " (visible)" : ""}`).join(", ")}${moreEditors > 0 ? ` and ${String(moreEditors)} more` : ""}.`,
        ]),
    ...(selection === null ? [] : [describeSelection(selection)]),
    ...describeProblems(problems),
  ];
  if (lines.length === 0) return null;
  const state = `When the user sent this message:\n${lines.map((line) => `- ${line}`).join("\n")}`;
  const text = selection?.text ?? null;
  return text === null ? state : `${state}\n${fence("The selected text", text)}`;
}

function describeRepository({ branch, commit, upstream, staged, changed, untracked, conflicts, operation }: RepositorySummary): string {
  const head = branch === null ? "no branch is checked out" : `branch ${quoted(branch)}`;
  const counts = [
    [staged, "staged"],
    [changed, "changed but not staged"],
    [untracked, "untracked"],
    [conflicts, "in conflict"],
  ] as const;
  const files = counts.flatMap(([count, what]) => (count === 0 ? [] : [`${String(count)} ${what}`]));
  const parts = [
    commit === null ? `${head} without commits` : `${head} at ${commit}`,
    ...(upstream === null || upstream.ahead + upstream.behind === 0
      ? []
      : [`${String(upstream.ahead)} ahead of and ${String(upstream.behind)} behind its upstream`]),
    files.length === 0 ? "no changed files" : `files: ${files.join(", ")}`,
    ...(operation === null ? [] : [`${operation} is not finished`]),
  ];
  return `Git: ${parts.join("; ")}.`;
}

function describeSelection({ path, startLine, endLine, text }: NonNullable<WorkState["selection"]>): string {
  const isCursor = text === null && startLine === endLine;
  const lines = startLine === endLine ? `line ${String(startLine)}` : `lines ${String(startLine)} to ${String(endLine)}`;
  return `${isCursor ? "Cursor" : "Selection"}: ${lines} of ${quoted(path)}.`;
}

function describeProblems(problems: readonly Problem[]): string[] {
  if (problems.length === 0) return [];
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const count = (number: number, what: string): string => `${String(number)} ${what}${number === 1 ? "" : "s"}`;
  const first = problems.slice(0, shownProblems);
  return [
    `Problems in open and changed files: ${count(errors, "error")}, ${count(problems.length - errors, "warning")}${first.length < problems.length ? "; the first ones" : ""}:`,
    ...first.map(
      ({ path, line, severity, message }) => `${severity} at line ${String(line)} of ${quoted(path)}: ${oneLine(message, maxMessage)}`,
    ),
  ];
}

/** A name as one quoted line: hidden characters are escaped, and a name cannot end its quotes. */
function quoted(name: string): string {
  return JSON.stringify(oneLine(name, maxName));
}

function oneLine(text: string, limit: number): string {
  // Twice the limit is enough, because escapes only make a text longer.
  const line = visibleText(text.slice(0, limit * 2).replaceAll(/\s+/g, " ")).trim();
  return line.length <= limit ? line : `${line.slice(0, limit).toWellFormed()}…`;
}
