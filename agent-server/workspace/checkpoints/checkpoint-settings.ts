import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseShipped } from "../../shipped-yaml.ts";

/** `config/checkpoints.yaml`. Sizes in bytes. */
export const CheckpointSettings = z.strictObject({
  version: z.literal(1).default(1),
  max_file_bytes: z.int().min(0).max(2_000_000_000).default(50_000_000),
  max_workspace_bytes: z.int().min(0).default(2_000_000_000),
  generated_folders: z.array(z.string().min(1).max(255)).max(500).default([]),
  max_total_bytes: z.int().min(1_000_000).default(5_000_000_000),
  keep_days: z.number().min(0.01).max(36_500).default(90),
});
export type CheckpointSettings = z.infer<typeof CheckpointSettings>;

/**
 * Merges the user's settings over the shipped ones, key by key. An invalid file is ignored as a whole, and `onProblem` gets
 * the reason.
 */
export function readCheckpointSettings(deps: {
  configDir: string | null;
  dataDir: string;
  onProblem: (words: string) => void;
}): CheckpointSettings {
  let laid: Record<string, unknown> = {};
  for (const folder of [...(deps.configDir === null ? [] : [deps.configDir]), join(deps.dataDir, "config")]) {
    try {
      const found: unknown = parseShipped(readFileSync(join(folder, "checkpoints.yaml"), "utf8")).value ?? {};
      const tried = { ...laid, ...z.record(z.string(), z.unknown()).parse(found) };
      CheckpointSettings.parse(tried);
      laid = tried;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") continue;
      const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
      const why =
        issue === undefined
          ? error instanceof Error
            ? error.message.split("\n")[0]
            : "it cannot be read"
          : `${issue.path.join(".") || "it"}: ${issue.message}`;
      deps.onProblem(`The file config/checkpoints.yaml is invalid and is ignored: ${why}.`);
    }
  }
  return CheckpointSettings.parse(laid);
}
