import type { PiiKind } from "./types.ts";

/** How sure a rule is: a check digit or an unmistakable form, a word right before, a word somewhere before. */
export const weights = { checked: 3, tight: 2, loose: 1 } as const;

export interface Candidate {
  readonly start: number;
  readonly end: number;
  readonly kind: PiiKind;
  readonly weight: number;
  /** Of a rule of the owner's: what it is called. */
  readonly name?: string;
}

export type Report = (start: number, end: number, kind: PiiKind, weight: number) => void;

/** Where two candidates overlap the surer stays, then the longer, then the first. Sorted by place. */
export function resolveOverlaps(candidates: readonly Candidate[]): Candidate[] {
  const kept: Candidate[] = [];
  for (const candidate of [...candidates].sort((a, b) => a.start - b.start || b.weight - a.weight || b.end - a.end)) {
    let wins = true;
    let first = kept.length;
    // Kept ones do not overlap each other, so those that overlap this one are the last.
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
