import type { Hunk } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import { isUndecided, type StoredChange, statusOf } from "./change-store.ts";
import { applyHunks } from "../text/hunks.ts";
import { mergeFiles } from "../text/three-way-merge.ts";

/** Result of accepting hunks, computed before anything is written. */
export interface Acceptance {
  readonly accepted: ReadonlySet<number>;
  readonly conflicts: ReadonlySet<number>;
  /** The file's new text; null deletes the file. */
  readonly text: string | null;
  readonly problem: string | null;
}

/** Selects the hunks a decision covers. @throws LancelotError `not_found`, `conflict` when one of them is decided. */
export function decidedHunks(change: StoredChange, indexes: readonly number[] | undefined): Hunk[] {
  if (change.status === "superseded") {
    throw new LancelotError("conflict", `A later edit of ${change.path.display} replaced this change. Review the later one.`);
  }
  const wanted = indexes === undefined ? change.hunks.filter(isUndecided) : [...new Set(indexes)].map((index) => hunkAt(change, index));
  if (wanted.length === 0) throw new LancelotError("conflict", `Every hunk of the change to ${change.path.display} is already decided.`);
  const decided = wanted.find((hunk) => !isUndecided(hunk));
  if (decided !== undefined) {
    throw new LancelotError("conflict", `Hunk ${decided.index + 1} of the change to ${change.path.display} was already ${decided.state}.`);
  }
  return wanted;
}

/**
 * Merges the selected hunks into the file's current text. Hunks that conflict with the user's edits are reported as conflicts;
 * the others are applied.
 */
export function planAcceptance(change: StoredChange, wanted: readonly Hunk[], current: string | null): Acceptance {
  const before = new Set(change.hunks.filter((hunk) => hunk.state === "accepted").map((hunk) => hunk.index));
  const lastApplied = textOf(change, before);
  const accepted = new Set(before);
  const conflicts = new Set<number>();
  let text = current;

  /** Splits a conflicting set in half until only the conflicting hunks remain. */
  function take(hunks: readonly Hunk[]): void {
    const target = textOf(change, new Set([...accepted, ...hunks.map((hunk) => hunk.index)]));
    const merged = mergeFiles(lastApplied, current, target);
    if (merged !== null) {
      for (const hunk of hunks) accepted.add(hunk.index);
      text = merged.text;
      return;
    }
    const [only] = hunks;
    if (hunks.length === 1 && only !== undefined) {
      conflicts.add(only.index);
      return;
    }
    const middle = Math.floor(hunks.length / 2);
    take(hunks.slice(0, middle));
    take(hunks.slice(middle));
  }
  take(wanted);
  return {
    accepted: new Set([...accepted].filter((index) => !before.has(index))),
    conflicts,
    text,
    problem: conflicts.size === 0 ? null : problemOf(change, current, conflicts.size),
  };
}

/** Returns the change with new states for some hunks. */
export function withStates(
  change: StoredChange,
  states: { accepted?: ReadonlySet<number>; rejected?: ReadonlySet<number>; conflicts?: ReadonlySet<number> },
  problem: string | null,
  updatedAt: string,
): StoredChange {
  const hunks = change.hunks.map((hunk): Hunk => {
    if (states.accepted?.has(hunk.index) === true) return { ...hunk, state: "accepted" };
    if (states.rejected?.has(hunk.index) === true) return { ...hunk, state: "rejected" };
    return states.conflicts?.has(hunk.index) === true ? { ...hunk, state: "conflict" } : hunk;
  });
  return {
    ...change,
    hunks,
    status: statusOf(hunks),
    problem: hunks.some((hunk) => hunk.state === "conflict") ? problem : null,
    updatedAt,
  };
}

function textOf(change: StoredChange, indexes: ReadonlySet<number>): string | null {
  return applyHunks(change.base, change.proposed, change.hunks, (hunk) => indexes.has(hunk.index));
}

function hunkAt(change: StoredChange, index: number): Hunk {
  const hunk = change.hunks.find((candidate) => candidate.index === index);
  if (hunk === undefined) throw new LancelotError("not_found", `The change to ${change.path.display} has no hunk ${index + 1}.`);
  return hunk;
}

function problemOf(change: StoredChange, current: string | null, count: number): string {
  const path = change.path.display;
  if (change.kind === "create") return `${path} was created with different content in the meantime. It was not changed.`;
  if (change.kind === "delete") return `${path} was edited since its deletion was proposed. It was not changed.`;
  if (current === null) return `${path} was deleted in the meantime, so this edit cannot be applied. Nothing was written.`;
  return `${count === 1 ? "One hunk does" : `${count} hunks do`} not merge with your own edits of ${path}. Your edits were kept. Edit the file, then accept again or reject.`;
}
