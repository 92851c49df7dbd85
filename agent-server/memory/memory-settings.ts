import * as z from "zod";
import { type ConfigFile, createLayeredConfig } from "../storage/storage.ts";

const Cap = z.int().min(50).max(20_000);

/** `config/memory.yaml`. Tokens are estimated. */
export const MemorySettings = z.strictObject({
  version: z.literal(1).default(1),
  block_tokens: z
    .strictObject({
      persona: Cap.default(500),
      human: Cap.default(400),
      operating_rules: Cap.default(300),
      mission: Cap.default(400),
      workspace_state: Cap.default(300),
    })
    .default({ persona: 500, human: 400, operating_rules: 300, mission: 400, workspace_state: 300 }),
  context_tokens: z.int().min(100).max(100_000).default(4_000),
  working_tokens: z.int().min(0).max(20_000).default(600),
  retrieved_tokens: z.int().min(0).max(20_000).default(1_200),
  retrieved_items: z.int().min(0).max(200).default(12),
  core_floor: z.number().min(0).max(1).default(0.6),
  archival_floor: z.number().min(0).max(1).default(0.2),
  item_characters: z.int().min(100).max(20_000).default(2_000),
  working_hours: z.number().min(0.02).max(720).default(24),
  half_life_days: z.number().min(1).max(3_650).default(90),
  forgotten_weight: z.number().min(0).max(1).default(0.05),
  snapshots: z.int().min(1).max(1_000).default(50),
  contexts: z.int().min(1).max(500).default(50),
  open_minutes: z.int().min(1).max(1_440).default(60),
  propose: z.boolean().default(true),
});
export type MemorySettings = z.infer<typeof MemorySettings>;

/** The effective settings: the owner's over the shipped ones. */
export function createMemorySettings(of: {
  /** The shipped `config/` folder; null: built-in defaults. */
  configDir: string | null;
  dataDir: string;
  onProblem: (words: string) => void;
}): ConfigFile<MemorySettings> {
  return createLayeredConfig({
    ...of,
    name: "memory.yaml",
    schema: MemorySettings,
    consequence: "Its last valid version applies, and nothing is removed from memory, until you correct it.",
  });
}
