import * as z from "zod";

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
