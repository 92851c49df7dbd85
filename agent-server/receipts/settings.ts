import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseShipped } from "../shipped-yaml.ts";

export const RetentionSettings = z.strictObject({
  version: z.literal(1).default(1),
  keep_days: z.number().min(1).max(36_500).default(180),
  segment_entries: z.int().min(100).max(1_000_000).default(50_000),
  /** 0: no limit. */
  max_bytes: z.int().min(0).default(2_000_000_000),
});
export type RetentionSettings = z.infer<typeof RetentionSettings>;

/**
 * Settings from `<file>` of the shipped `configDir` with the owner's of the data folder laid over it, key by key. A file that cannot
 * be used is left out as a whole, and `problem` says why.
 */
export function readSettings<T extends z.ZodType>(
  schema: T,
  deps: { configDir: string | null; dataDir: string; file: string },
): { settings: z.output<T>; problem: string | null } {
  const folders = deps.configDir === null ? [] : [deps.configDir];
  let laid: Record<string, unknown> = {};
  let problem: string | null = null;
  for (const folder of [...folders, join(deps.dataDir, "config")]) {
    const path = join(folder, deps.file);
    try {
      const found: unknown = parseShipped(readFileSync(path, "utf8")).value ?? {};
      if (typeof found !== "object" || Array.isArray(found)) throw new Error("it is no list of settings");
      const tried = { ...laid, ...found };
      schema.parse(tried);
      laid = tried;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      problem = `The file config/${deps.file} cannot be used, so the settings before it hold: ${sentence(error)}`;
    }
  }
  return { settings: schema.parse(laid), problem };
}

function sentence(error: unknown): string {
  if (error instanceof z.ZodError) {
    const issue = error.issues[0];
    return `${issue?.path.join(".") || "it"}: ${issue?.message ?? "is not as it should be"}.`;
  }
  return `${(error instanceof Error ? error.message : "it cannot be read").split("\n")[0]}.`;
}
