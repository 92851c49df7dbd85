import { readFileSync } from "node:fs";
import { join } from "node:path";
import type * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { parseShipped } from "../shipped-yaml.ts";

/**
 * Reads a shipped YAML table and validates it.
 * @throws LancelotError `internal`, naming the file, when it is missing or malformed.
 */
export function readTable<T extends z.ZodType>(configDir: string, name: string, schema: T): z.output<T> {
  try {
    return schema.parse(parseShipped(readFileSync(join(configDir, name), "utf8")).value);
  } catch (error) {
    throw new LancelotError("internal", `config/${name} cannot be read or is malformed. Restore the file, or reinstall Lancelot.`, {
      cause: error,
    });
  }
}
