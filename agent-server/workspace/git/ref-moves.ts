import type { Git } from "./git.ts";
import { setEntries } from "./index-entries.ts";
import type { Move } from "./repository-moves.ts";

/** A branch or tag to move from one commit to another; null stands for one that does not exist. */
export interface RefUpdate {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface RefMove extends RefUpdate {
  readonly after: string;
  /** Files whose index entries move with it when it is checked out. */
  readonly paths: readonly string[];
}

/** Moves all refs or none, each only from the value it is expected to have. @throws LancelotError when one has another value. */
export async function updateRefs(git: Git, updates: readonly RefUpdate[]): Promise<void> {
  const lines = updates.map(({ ref, before, after }) => {
    if (after === null) return `delete ${ref} ${before ?? ""}\n`;
    return before === null ? `create ${ref} ${after}\n` : `update ${ref} ${after} ${before}\n`;
  });
  const author = { name: git.owner.name ?? "Lancelot", email: git.owner.email ?? "lancelot@localhost" };
  await git.run("update-ref", ["-m", "import of a task's commits", "--stdin"], undefined, { input: lines.join(""), author });
}

/** Records and moves refs, and sets the index entries of the one that is checked out. Everything is moved back when that fails. */
export async function moveRefs(
  git: Git,
  moves: readonly RefMove[],
  checkedOut: string | null,
  record: (move: Move) => void,
): Promise<void> {
  if (moves.length === 0) return;
  for (const { ref, before, after, paths } of moves) {
    if (before === null && ref !== checkedOut) record({ kind: "branch", ref, after });
    else record({ kind: "commit", ref, before, after, paths: [...paths] });
  }
  await updateRefs(git, moves);
  const moved = moves.find(({ ref }) => ref === checkedOut);
  if (moved === undefined) return;
  try {
    await setEntries(git, moved.after, moved.paths);
  } catch (error) {
    // A partial update of the index would look as if the user had staged the reverse.
    await updateRefs(
      git,
      moves.map(({ ref, before, after }) => ({ ref, before: after, after: before })),
    );
    throw error;
  }
}
