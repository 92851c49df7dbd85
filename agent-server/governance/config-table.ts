import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type * as z from "zod";
import { LancelotError } from "../contract/errors.ts";

/**
 * Reads a shipped YAML table and validates it.
 * @throws LancelotError `internal`, naming the file, when it is missing or malformed.
 */
export function readTable<T extends z.ZodType>(configDir: string, name: string, schema: T): z.output<T> {
  try {
    return schema.parse(parse(readFileSync(join(configDir, name), "utf8"), { maxAliasCount: 0 }));
  } catch (error) {
    throw new LancelotError("internal", `config/${name} cannot be read or is malformed. Restore the file, or reinstall Lancelot.`, {
      cause: error,
    });
  }
}
