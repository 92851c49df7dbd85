import type { Storage } from "../storage/storage.ts";

/** Calls `tell` when this or another window changed memory. */
export function createChangeNotice(storage: Pick<Storage, "db">, tell: () => void) {
  const { db } = storage;
  const written = db.prepare<[], number>("PRAGMA data_version").pluck();
  const state = db
    .prepare<[], string>(
      `SELECT coalesce((SELECT max(finish_seq) FROM memory_commits), 0) || ':' || coalesce((SELECT max(seq) FROM memory_commits), 0)
        || ':' || (SELECT count(*) FROM memory_quarantine WHERE status = 'pending')
        || ':' || coalesce((SELECT max(seq) FROM memory_contexts), 0)`,
    )
    .pluck();
  let version: number | null = null;
  let known: string | null = null;

  return {
    /** This host changed something. */
    changed(): void {
      known = state.get() ?? null;
      tell();
    },
    /** Checks whether another window has written; cheap when none has. */
    look(): void {
      const now = written.get() ?? 0;
      if (now === version) return;
      version = now;
      const found = state.get() ?? null;
      if (found === known) return;
      const first = known === null;
      known = found;
      if (!first) tell();
    },
  };
}
