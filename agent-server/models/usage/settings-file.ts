import type * as z from "zod";
import { checkOwnerValue, createOwnerFile, OwnerFileFault, parseOwnerYaml } from "../../owner-file.ts";

/** A user's YAML file, read again when it changed. */
export interface SettingsFile<T> {
  /** The value (the last valid one of an invalid file; null without one) and the problem with its line. */
  read(): { readonly value: T | null; readonly problem: string | null };
  /** Whether the file changed since `read`; false before the first `read`. */
  changed(): boolean;
}

/** @param of.name the file in `config/`, such as `usage.yaml` */
export function createSettingsFile<S extends z.ZodType>(of: { dataDir: string; name: string; schema: S }): SettingsFile<z.output<S>> {
  return createOwnerFile({ ...of, parse: (text) => parse(text, of.schema) });
}

/** @throws Error with the file, the line and the problem */
export function parseSettings<S extends z.ZodType>(text: string, of: { name: string; schema: S }): z.output<S> {
  try {
    return parse(text, of.schema);
  } catch (error) {
    if (!(error instanceof OwnerFileFault)) throw error;
    throw new Error(`config/${of.name} in the data folder, line ${error.line ?? 1}: ${error.message}.`, { cause: error });
  }
}

function parse<S extends z.ZodType>(text: string, schema: S): z.output<S> {
  const { value, lineOf } = parseOwnerYaml(text, { maxAliases: 100 });
  return checkOwnerValue(schema, value, lineOf);
}
