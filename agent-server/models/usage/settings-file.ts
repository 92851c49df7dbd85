import type * as z from "zod";
import { fileStamp, parseOwnersYaml, readOwners, wordIssue } from "../config-yaml.ts";

/** A YAML file the owner may have written, read again when it is another one. */
export interface OwnersSettings<T> {
  /** What it says, null where there is none or it cannot be used; why it cannot be, with its line. */
  read(): { readonly value: T | null; readonly problem: string | null };
  /** True when the file is another one than `read` saw; false before the first `read`. */
  changed(): boolean;
}

/** @param of.name as people know it, such as `config/usage.yaml`; `example` keys such a file has. */
export function createOwnersSettings<S extends z.ZodType>(of: {
  path: string;
  name: string;
  example: string;
  schema: S;
}): OwnersSettings<z.output<S>> {
  let seen: string | null = null;
  let known: { value: z.output<S> | null; problem: string | null } = { value: null, problem: null };
  const stamp = (): string => {
    try {
      return fileStamp(of.path);
    } catch (error) {
      // It cannot even be looked at: reading it will say why.
      return `unreadable:${String(error)}`;
    }
  };
  const load = (): typeof known => {
    try {
      const text = readOwners(of.path, of.name);
      return { value: text === null ? null : parseSettings(text, of), problem: null };
    } catch (error) {
      return { value: null, problem: error instanceof Error ? error.message : `${of.name} in the data folder cannot be read.` };
    }
  };

  return {
    read() {
      const now = stamp();
      if (now !== seen) {
        seen = now;
        known = load();
      }
      return known;
    },
    changed: () => seen !== null && stamp() !== seen,
  };
}

/** @throws Error with the file, the line and what is wrong there. */
export function parseSettings<S extends z.ZodType>(text: string, of: { name: string; example: string; schema: S }): z.output<S> {
  const problem = (line: number, what: string): Error => new Error(`${of.name} in the data folder, line ${line}: ${what}.`);
  const document = parseOwnersYaml(text, of.example);
  if (document.broken !== null) throw problem(document.broken.line, document.broken.what);
  const parsed = of.schema.safeParse(document.value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  throw problem(
    document.lineOf(path),
    `${path.join(".") || "the file"} ${issue === undefined ? "is not as it should be" : wordIssue(issue)}`,
  );
}
