import type { Storage } from "../storage/storage.ts";

/** A small part of the database, cached in memory and reloaded after a write by this or another window. */
export interface Snapshot<T> {
  get(): T;
  /** Call after each write of this window, inside its transaction. */
  invalidate(): void;
}

/**
 * `load` reads the whole part. It runs after `invalidate`, or when `PRAGMA data_version` (under a microsecond) shows another
 * connection's commit. Values written by a transaction that rolls back are dropped with it.
 */
export function createSnapshot<T>(storage: Storage, load: () => T): Snapshot<T> {
  const dataVersion = storage.db.prepare<[], number>("PRAGMA data_version").pluck();
  let cached: { readonly value: T; readonly version: number | undefined } | null = null;
  return {
    get() {
      // Read before loading, so that a commit in between causes a reload next time.
      const version = dataVersion.get();
      if (cached === null || cached.version !== version) cached = { value: load(), version };
      return cached.value;
    },
    invalidate() {
      cached = null;
      storage.afterTransaction(() => {
        cached = null;
      });
    },
  };
}
