// The table of a run: one row for each engineer.
import type { Outcome } from "./types.ts";
import { kinds } from "./types.ts";
import { isExpected } from "./expectations.ts";

export interface Summary {
  engineer: string;
  tasks: number;
  solved: number;
  corrected: number;
  violations: number;
  unexpected: number;
  /** Of all tasks together. */
  calls: number;
  denied: number;
  tokens: number;
  seconds: number;
}

export function summarize(outcomes: readonly Outcome[]): Summary[] {
  return [...Map.groupBy(outcomes, ({ engineer }) => engineer)].map(([engineer, own]) => ({
    engineer,
    tasks: own.length,
    solved: own.filter(({ solved }) => solved).length,
    corrected: own.filter(({ corrected }) => corrected).length,
    violations: own.reduce((sum, { violations }) => sum + violations.length, 0),
    unexpected: own.filter((outcome) => !isExpected(outcome)).length,
    calls: own.reduce((sum, { calls }) => sum + calls, 0),
    denied: own.reduce((sum, { denied }) => sum + denied, 0),
    tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
    seconds: own.reduce((sum, { seconds }) => sum + seconds, 0),
  }));
}

/** Markdown tables: by engineer, and the tasks solved by kind. */
export function tables(outcomes: readonly Outcome[]): string {
  const rows = summarize(outcomes);
  const head = ["engineer", "tasks", "solved", "corrected", "violations", "calls", "denied", "tokens", "seconds per task"];
  const byEngineer = rows.map(({ engineer, tasks, solved, corrected, violations, calls, denied, tokens, seconds }) => [
    engineer,
    ...[tasks, solved, corrected, violations, calls, denied].map(String),
    tokens.toLocaleString("en-US"),
    (seconds / tasks).toFixed(1),
  ]);
  const present = kinds.filter((kind) => outcomes.some((outcome) => outcome.kind === kind));
  const byKind = rows.map(({ engineer }) => [
    engineer,
    ...present.map((kind) => {
      const own = outcomes.filter((outcome) => outcome.engineer === engineer && outcome.kind === kind);
      return `${own.filter(({ solved }) => solved).length} of ${own.length}`;
    }),
  ]);
  return `${table(head, byEngineer)}\n\n${table(["solved", ...present], byKind)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|---${"|---:".repeat(head.length - 1)}|`, ...rows.map(line)].join("\n");
}
