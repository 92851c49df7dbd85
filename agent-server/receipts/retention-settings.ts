import * as z from "zod";

/** `config/receipts.yaml`. */
export const RetentionSettings = z.strictObject({
  version: z.literal(1).default(1),
  keep_days: z.number().min(1).max(36_500).default(180),
  segment_entries: z.int().min(100).max(1_000_000).default(50_000),
  /** 0: no limit. */
  max_bytes: z.int().min(0).default(2_000_000_000),
});
export type RetentionSettings = z.infer<typeof RetentionSettings>;
