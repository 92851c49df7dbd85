import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

/** One YAML file of the owner's, read again when it is another one. */
export interface OwnersFile<T> {
  /** What it says; null, with why, when it cannot be used. */
  read(): { readonly value: T | null; readonly problem: string | null };
}

/** @param of.empty what holds while there is no such file. */
export function createOwnersFile<S extends z.ZodType>(of: {
  dataDir: string;
  name: string;
  schema: S;
  empty: z.input<S>;
}): OwnersFile<z.output<S>> {
  const path = join(of.dataDir, "config", of.name);
  let seen: string | null = null;
  let known: { value: z.output<S> | null; problem: string | null } = { value: null, problem: null };

  function load(): typeof known {
    try {
      const text = seen === "none" ? null : readFileSync(path, "utf8");
      return { value: of.schema.parse(text === null ? of.empty : (parse(text, { maxAliasCount: 0 }) ?? of.empty)), problem: null };
    } catch (error) {
      const why = error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : String(error);
      const short = why.replaceAll(path, `config/${of.name}`).slice(0, 1000);
      return { value: null, problem: `Your config/${of.name} cannot be used, so nothing it is about is done. Correct the file: ${short}` };
    }
  }

  return {
    read() {
      const stamp = stampOf(path);
      if (stamp === seen) return known;
      seen = stamp;
      known = load();
      return known;
    },
  };
}

function stampOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? "none" : `${stats.mtimeMs}:${stats.size}:${stats.ino}`;
  } catch (error) {
    // It cannot even be looked at: reading it will say why.
    return `unreadable:${String(error)}`;
  }
}
