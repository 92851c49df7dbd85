import * as z from "zod";
import { type ConfigFile, createLayeredConfig } from "../../storage/storage.ts";

/** `config/checkpoints.yaml`. Sizes in bytes. */
export const CheckpointSettings = z.strictObject({
  version: z.literal(1).default(1),
  max_file_bytes: z.int().min(0).max(2_000_000_000).default(50_000_000),
  max_workspace_bytes: z.int().min(0).default(2_000_000_000),
  generated_folders: z.array(z.string().min(1).max(255)).max(500).default([]),
  generated_files: z.enum(["with_review", "at_once", "never"]).default("with_review"),
  max_total_bytes: z.int().min(1_000_000).default(5_000_000_000),
  keep_days: z.number().min(0.01).max(36_500).default(90),
  max_task_bytes: z.int().min(1_000_000).default(20_000_000_000),
  keep_task_days: z.number().min(0.01).max(36_500).default(14),
});
export type CheckpointSettings = z.infer<typeof CheckpointSettings>;

/** The shipped file with the user's over it, key by key. While `problem` is set, nothing may be removed by these limits. */
export function createCheckpointSettings(deps: {
  configDir: string | null;
  dataDir: string;
  onProblem: (message: string) => void;
}): ConfigFile<CheckpointSettings> {
  return createLayeredConfig({
    ...deps,
    name: "checkpoints.yaml",
    schema: CheckpointSettings,
    consequence: "Its last valid version applies, and nothing that undo needs is removed, until you correct it.",
  });
}
