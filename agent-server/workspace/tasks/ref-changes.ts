import type { RefState } from "../git/ref-state.ts";

/** A branch or tag that a task created or moved. */
export interface RefChange {
  readonly ref: string;
  /** In the real repository; null when it is new. */
  readonly before: string | null;
  readonly after: string;
  /** `rewritten`: the commits that it had are not part of its history any more. */
  readonly kind: "new" | "moved" | "rewritten";
}

/** Why something that a task did to a branch or tag is not imported. */
export type RefProblem =
  /** The task deleted it; deletions are never imported. */
  | "deleted"
  /** The user moved or deleted it since the task began. */
  | "changed outside"
  /** Another work tree has it checked out. */
  | "work tree"
  /** It is not the branch of the linked work tree, which shares its branches and tags with others. */
  | "not checked out"
  /** An existing tag was moved. */
  | "tag moved"
  /** It is or was a symbolic ref, or has no hash. */
  | "not a commit"
  | "name"
  /** The task made commits that no branch has. */
  | "no branch"
  /** A submodule was added or moved; its commits are in another repository. */
  | "submodule"
  /** A file name that is unsafe on some system or that is no valid text. */
  | "file name";

export interface RefRefusal {
  readonly ref: string;
  readonly problem: RefProblem;
}

/** A branch or tag whose value in the view comes from the task, before its commits were read. */
export interface RefCandidate {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string;
  /** False when the user changed it too. */
  readonly isCurrent: boolean;
}

const isHash = (value: string): boolean => /^[0-9a-f]{40,64}$/.test(value);

/**
 * Separates what a task did from what the user did meanwhile: `base` is the state both began with.
 */
export function compareRefs(base: RefState, real: RefState, view: RefState): { candidates: RefCandidate[]; refused: RefRefusal[] } {
  const candidates: RefCandidate[] = [];
  const refused: RefRefusal[] = [];
  for (const ref of new Set([...Object.keys(view.refs), ...Object.keys(base.refs)])) {
    const [was, now, after] = [base.refs[ref] ?? null, real.refs[ref] ?? null, view.refs[ref] ?? null];
    if (after === now || after === was) continue;
    const refuse = (problem: RefProblem): number => refused.push({ ref, problem });
    if (after === null) refuse("deleted");
    else if (!isHash(after) || (now !== null && !isHash(now))) refuse("not a commit");
    else if (now === null && was !== null) refuse("changed outside");
    else if (now !== null && ref.startsWith("refs/tags/")) refuse("tag moved");
    else candidates.push({ ref, before: now, after, isCurrent: now === was });
  }
  return { candidates, refused };
}

/** The state that the task's next commands begin with: where both agree, it is the current one. */
export function nextBase(base: RefState, real: RefState, view: RefState): RefState {
  const names = new Set([...Object.keys(base.refs), ...Object.keys(real.refs)]);
  const refs: Record<string, string> = {};
  for (const ref of names) {
    const value = view.refs[ref] === real.refs[ref] ? real.refs[ref] : base.refs[ref];
    if (value !== undefined) refs[ref] = value;
  }
  const agree = view.head.ref === real.head.ref && view.head.commit === real.head.commit;
  return { head: agree ? real.head : base.head, refs };
}
