import type * as z from "zod";
import { fileStamp, readUserFile } from "../../storage/storage.ts";
import { parseUserYaml, describeIssue } from "../config-yaml.ts";

/** A user's YAML file, read again when it changed. */
export interface SettingsFile<T> {
  /** The value (null for a missing or invalid file) and the problem with its line. */
  read(): { readonly value: T | null; readonly problem: string | null };
  /** Whether the file changed since `read`; false before the first `read`. */
  changed(): boolean;
}

/** @param of.name display name, such as `config/usage.yaml`; `example` keys of such a file */
export function createSettingsFile<S extends z.ZodType>(of: {
  path: string;
  name: string;
  example: string;
  schema: S;
}): SettingsFile<z.output<S>> {
  let seen: string | null = null;
  let known: { value: z.output<S> | null; problem: string | null } = { value: null, problem: null };
  const stamp = (): string => {
    try {
      return fileStamp(of.path);
    } catch (error) {
      // The file is inaccessible: reading it reports why.
      return `unreadable:${String(error)}`;
    }
  };
  const load = (): typeof known => {
    try {
      const text = readUserFile(of.path, of.name);
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

/** @throws Error with the file, the line and the problem */
export function parseSettings<S extends z.ZodType>(text: string, of: { name: string; example: string; schema: S }): z.output<S> {
  const problem = (line: number, what: string): Error => new Error(`${of.name} in the data folder, line ${line}: ${what}.`);
  const document = parseUserYaml(text, of.example);
  if (document.broken !== null) throw problem(document.broken.line, document.broken.what);
  const parsed = of.schema.safeParse(document.value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  throw problem(document.lineOf(path), `${path.join(".") || "the file"} ${issue === undefined ? "is invalid" : describeIssue(issue)}`);
}
