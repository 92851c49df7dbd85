import type { Hunk, HunkState } from "../../contract/changes.ts";
import type { StoredChange } from "./change-store.ts";
import { cutLine } from "../text/output-bounds.ts";

const maxLinesShown = 12;
const maxHunksShown = 8;

/** The hunk states that the model knows after a report of this change. */
export function decidedStates(change: StoredChange): Record<string, HunkState> {
  return Object.fromEntries(change.hunks.filter((hunk) => hunk.state !== "pending").map((hunk) => [String(hunk.index), hunk.state]));
}

/** Describes for the model what the user decided since the last report; empty when nothing was decided. */
export function reviewText(changes: readonly StoredChange[]): string {
  const told = changes.map(changeText).filter((text) => text !== "");
  if (told.length === 0) return "";
  return `The user reviewed your proposed changes:\n${told.join("\n")}\nFiles now contain the accepted changes. Do not propose rejected changes again unless the user asks.`;
}

function changeText(change: StoredChange): string {
  const news = change.hunks.filter((hunk) => hunk.state !== "pending" && change.told[String(hunk.index)] !== hunk.state);
  if (news.length === 0) return "";
  const of = (state: HunkState) => news.filter((hunk) => hunk.state === state);
  const accepted = of("accepted");
  const rejected = of("rejected");
  const conflicts = of("conflict");
  const parts: string[] = [];
  if (accepted.length > 0) parts.push(count(accepted.length, change.hunks.length, "accepted"));
  if (rejected.length > 0) parts.push(count(rejected.length, change.hunks.length, "rejected"));
  if (conflicts.length > 0) parts.push(`${conflicts.length} not applied, because of a conflict with the user's own edits`);
  const open = change.hunks.filter((hunk) => hunk.state === "pending").length;
  if (open > 0) parts.push(`${open} undecided`);
  return [`- ${change.path.display}: ${parts.join(", ")}.`, ...[...rejected, ...conflicts].slice(0, maxHunksShown).map(hunkText)].join(
    "\n",
  );
}

function hunkText(hunk: Hunk): string {
  const lines = hunk.lines.slice(0, maxLinesShown).map((line) => `    ${cutLine(line, 200)}`);
  if (hunk.lines.length > maxLinesShown) lines.push(`    … ${hunk.lines.length - maxLinesShown} more lines`);
  return [`  ${hunk.state} at line ${hunk.oldStart}:`, ...lines].join("\n");
}

function count(some: number, all: number, what: string): string {
  return some === all ? `all ${what}` : `${some} of ${all} parts ${what}`;
}
