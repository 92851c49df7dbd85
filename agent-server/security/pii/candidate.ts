import type { PiiKind } from "./types.ts";

/** Confidence of a rule: a check digit or distinctive form, a cue directly before, a cue somewhere before. */
export const weights = { checked: 3, tight: 2, loose: 1 } as const;

export interface Candidate {
  readonly start: number;
  readonly end: number;
  readonly kind: PiiKind;
  readonly weight: number;
  /** Name of the custom pattern. */
  readonly name?: string;
}

export type Report = (start: number, end: number, kind: PiiKind, weight: number) => void;

/** Resolves overlaps: the more confident candidate wins, then the longer, then the first. Sorted by position. */
export function resolveOverlaps(candidates: readonly Candidate[]): Candidate[] {
  const kept: Candidate[] = [];
  for (const candidate of [...candidates].sort((a, b) => a.start - b.start || b.weight - a.weight || b.end - a.end)) {
    let wins = true;
    let first = kept.length;
    // Accepted candidates do not overlap each other, so only the last ones can overlap this one.
    while (first > 0) {
      const other = kept[first - 1];
      if (other === undefined || other.end <= candidate.start) break;
      if (!isBetter(candidate, other)) wins = false;
      first -= 1;
    }
    if (!wins) continue;
    kept.length = first;
    kept.push(candidate);
  }
  return kept;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  return a.weight !== b.weight ? a.weight > b.weight : a.end - a.start > b.end - b.start;
}
