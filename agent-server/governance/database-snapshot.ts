import type { Storage } from "../storage/storage.ts";

/** A small part of the database, kept in memory and read again when this or another window has written. */
export interface Snapshot<T> {
  get(): T;
  /** To be called after each write of this window, inside its transaction. */
  touched(): void;
}

/**
 * `load` reads the whole part; it is called when `PRAGMA data_version` shows another connection's commit (under a microsecond to
 * ask) or after `touched`. What a transaction that is undone had written is forgotten with it.
 */
export function createSnapshot<T>(storage: Storage, load: () => T): Snapshot<T> {
  const dataVersion = storage.db.prepare<[], number>("PRAGMA data_version").pluck();
  let kept: { readonly value: T; readonly version: number | undefined } | null = null;
  return {
    get() {
      // Asked before it is read: what is committed in between shows the next time.
      const version = dataVersion.get();
      if (kept === null || kept.version !== version) kept = { value: load(), version };
      return kept.value;
    },
    touched() {
      kept = null;
      storage.afterTransaction(() => {
        kept = null;
      });
    },
  };
}
