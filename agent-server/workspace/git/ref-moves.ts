import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "./git.ts";
import { type Entry, setEntries } from "./index-entries.ts";
import { findSharingRef } from "./ref-state.ts";
import type { Move } from "./repository-moves.ts";

/** A branch or tag to move from one commit to another; null stands for one that does not exist. */
export interface RefUpdate {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface RefMove extends RefUpdate {
  readonly after: string;
  /** What differs in the index when it is checked out. */
  readonly entries: readonly Entry[];
}

/** Stores a move before it happens. @returns what removes it again, for one that did not happen. */
export type RecordMove = (move: Move) => () => void;

/** Moves all refs or none, each only from the value it is expected to have. @throws LancelotError `conflict` when one has another. */
export async function updateRefs(git: Git, updates: readonly RefUpdate[]): Promise<void> {
  const lines = updates.map(({ ref, before, after }) => {
    if (after === null) return `delete ${ref} ${before ?? ""}\n`;
    return before === null ? `create ${ref} ${after}\n` : `update ${ref} ${after} ${before}\n`;
  });
  const author = { name: git.owner.name ?? "Lancelot", email: git.owner.email ?? "lancelot@localhost" };
  try {
    await git.run("update-ref", ["-m", "import of a task's commits", "--stdin"], undefined, { input: lines.join(""), author });
  } catch (error) {
    if (!(error instanceof LancelotError && error.cause instanceof Error && /cannot lock ref/.test(error.cause.message))) throw error;
    const message = "A branch was changed meanwhile, or its name collides with another one, so nothing was imported.";
    throw new LancelotError("conflict", message, { cause: error.cause });
  }
}

/** Records and moves refs, and sets the index entries of the one that is checked out. Everything is moved back when that fails. */
export async function moveRefs(git: Git, moves: readonly RefMove[], checkedOut: string | null, record: RecordMove): Promise<void> {
  if (moves.length === 0) return;
  const planned = await Promise.all(moves.map((move) => describeMove(git, move, checkedOut)));
  const withdrawals = planned.map((move) => record(move));
  const moved = moves.find(({ ref }) => ref === checkedOut);
  let isMoved = false;
  try {
    await updateRefs(git, moves);
    isMoved = true;
    if (moved !== undefined) await setEntries(git, moved.entries);
  } catch (error) {
    // A partial update of the index would look as if the user had staged the reverse.
    if (isMoved) {
      await updateRefs(
        git,
        moves.map(({ ref, before, after }) => ({ ref, before: after, after: before })),
      );
    }
    for (const withdraw of withdrawals) withdraw();
    throw error;
  }
}

async function describeMove(git: Git, { ref, before, after, entries }: RefMove, checkedOut: string | null): Promise<Move> {
  if (before === null && ref !== checkedOut) return { kind: "branch", ref, after };
  const shared = (await findSharingRef(git, after)) === null ? {} : { shared: true };
  return { kind: "commit", ref, before, after, paths: entries.map(({ name }) => name), ...shared };
}
