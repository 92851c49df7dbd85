import * as z from "zod";
import { readTable } from "../config-table.ts";
import { tags } from "../action-vocabulary.ts";

const Count = z.int().min(1).max(1_000_000);

const LearningTable = z.strictObject({
  version: z.literal(1),
  evidence: z.strictObject({
    observations: Count,
    days: Count,
    // At most half would not be agreement.
    consistency: z.number().gt(0.5).max(1),
    quests: Count,
    again: Count,
  }),
  rules: z.strictObject({ most: Count, per_day: Count, in_all: Count }),
  wide: z.strictObject({ scopes: Count, never: z.array(z.string().min(1)) }),
  // An empty list would allow automating everything.
  never_automate: z.strictObject({
    actions: z.array(z.string().regex(/^[a-z_]+\.(?:[a-z_]+|\*)$/)).min(1),
    words: z.array(z.string().regex(/^[a-z]+\*?$/)).min(1),
    tags: z.array(z.enum(tags)).min(1),
  }),
});

/** The settings of `config/learning.yaml`. */
export type LearningConfig = z.output<typeof LearningTable>;

/** @throws LancelotError `internal` when the file is missing or malformed. */
export function loadLearningConfig(configDir: string): LearningConfig {
  return readTable(configDir, "learning.yaml", LearningTable);
}
