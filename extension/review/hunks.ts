import type { Change, Hunk } from "../../agent-server/contract/changes.ts";

/** A hunk's position in the proposed text. Lines start at 0; `end` is exclusive and equals `start` for removed lines. */
export interface PlacedHunk {
  readonly index: number;
  readonly state: Hunk["state"];
  readonly start: number;
  readonly end: number;
  readonly added: number;
  readonly removed: number;
}

/** A hunk without its context lines: removed and added lines, and where each begins (lines from 0). */
interface Core {
  hunk: Hunk;
  removed: string[];
  added: string[];
  oldStart: number;
  newStart: number;
}

export function isUndecided(hunk: Pick<Hunk, "state">): boolean {
  return hunk.state === "pending" || hunk.state === "conflict";
}

/** True while a change has undecided hunks. */
export function isOpen(change: Pick<Change, "status" | "hunks">): boolean {
  return change.status !== "superseded" && change.hunks.some(isUndecided);
}

export function countUndecided(change: Pick<Change, "hunks">): number {
  return change.hunks.filter(isUndecided).length;
}

/**
 * Finds every hunk's position in `proposed`, the text with all hunks that are not rejected. A hunk's line numbers refer to the
 * text with all hunks, so each rejected hunk before it shifts it. When the file changed below the proposal, the
 * nearest position with the same lines wins.
 */
export function placeHunks(hunks: readonly Hunk[], proposed: string): PlacedHunk[] {
  const lines = proposed.split(/\r\n|\r|\n/);
  const cores = hunks.map(coreOf).sort((a, b) => a.oldStart - b.oldStart || a.newStart - b.newStart || a.hunk.index - b.hunk.index);
  let rejectedShift = 0;
  let acceptedShift = 0;
  let drift = 0;
  return cores.map(({ hunk, removed, added, oldStart, newStart }) => {
    const rejected = hunk.state === "rejected";
    const shown = rejected ? removed : added;
    // Some diff formats number an empty side differently, so this uses the side that has lines.
    const expected = (added.length > 0 ? newStart + rejectedShift : oldStart + acceptedShift) + drift;
    const found = shown.length === 0 ? expected : nearest(lines, shown, expected);
    drift += found - expected;
    if (rejected) rejectedShift += removed.length - added.length;
    else acceptedShift += added.length - removed.length;
    const start = Math.min(Math.max(found, 0), lines.length);
    return {
      index: hunk.index,
      state: hunk.state,
      start,
      end: Math.min(start + shown.length, lines.length),
      added: added.length,
      removed: removed.length,
    };
  });
}

function coreOf(hunk: Hunk): Core {
  const body = hunk.lines.filter((line) => !line.startsWith("\\"));
  let lead = 0;
  while (lead < body.length && body[lead]?.startsWith(" ") === true) lead += 1;
  let tail = body.length;
  while (tail > lead && body[tail - 1]?.startsWith(" ") === true) tail -= 1;
  const core = body.slice(lead, tail);
  const side = (other: string) => core.filter((line) => !line.startsWith(other)).map((line) => line.slice(1).replace(/\r$/, ""));
  return {
    hunk,
    removed: side("+"),
    added: side("-"),
    oldStart: Math.max(hunk.oldStart - 1, 0) + lead,
    newStart: Math.max(hunk.newStart - 1, 0) + lead,
  };
}

/** The line nearest to `expected` where `lines` contain `block`; `expected` when there is none. */
function nearest(lines: readonly string[], block: readonly string[], expected: number): number {
  const holds = (at: number) => at >= 0 && at + block.length <= lines.length && block.every((line, offset) => lines[at + offset] === line);
  for (let distance = 0; distance <= lines.length; distance++) {
    if (holds(expected + distance)) return expected + distance;
    if (holds(expected - distance)) return expected - distance;
  }
  return expected;
}

/** The undecided hunk at a line, or the one nearest to it; null when all are decided. */
export function hunkAt(placed: readonly PlacedHunk[], line: number): PlacedHunk | null {
  const distance = ({ start, end }: PlacedHunk) =>
    line < start ? start - line : line < Math.max(end, start + 1) ? 0 : line - Math.max(end - 1, start);
  const open = placed.filter(isUndecided);
  return open.reduce<PlacedHunk | null>((best, hunk) => (best === null || distance(hunk) < distance(best) ? hunk : best), null);
}

/** The next undecided hunk after (or before) the one at `line`; null past the last. */
export function neighbour(placed: readonly PlacedHunk[], line: number, direction: "next" | "previous"): PlacedHunk | null {
  const open = placed.filter(isUndecided).sort((a, b) => a.start - b.start);
  if (direction === "next") return open.find((hunk) => hunk.start > line) ?? null;
  return open.findLast((hunk) => Math.max(hunk.end, hunk.start + 1) <= line) ?? null;
}

/** Lines added and removed by a unified diff. */
export function countDiff(diff: string): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  let inHunk = false;
  for (const line of diff.split("\n")) {
    if (line.startsWith("@@")) inHunk = true;
    else if (inHunk && line.startsWith("+")) added += 1;
    else if (inHunk && line.startsWith("-")) removed += 1;
  }
  return { added, removed };
}

/** The changes that one decision may cover: a file that another program would run is accepted only on its own. */
export function inOneDecision(changes: readonly Change[], decision: "accept" | "reject", questId: string | undefined): readonly Change[] {
  return changes.filter(
    (change) => (questId === undefined || change.questId === questId) && (decision === "reject" || change.caution === undefined),
  );
}
