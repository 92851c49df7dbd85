import * as z from "zod";
import { createLayeredSettings } from "../storage/storage.ts";

const Share = z.number().min(0.05).max(1);

/** `config/context.yaml`. Tokens are estimated; shares are of what the budget leaves for the conversation. */
export const ContextSettings = z.strictObject({
  version: z.literal(1).default(1),
  budget_tokens: z.int().min(1_000).max(100_000_000).default(128_000),
  shorten_at: Share.default(0.75),
  compact_at: Share.default(0.85),
  keep: Share.default(0.4),
  summarizer: z.enum(["local", "active", "rules"]).default("local"),
  summary_tokens: z.int().min(100).max(20_000).default(1_500),
});
export type ContextSettings = z.infer<typeof ContextSettings>;

/** The settings in force: the shipped ones with the owner's laid over them. */
export function createContextSettings(of: {
  /** The shipped `config/` folder; null: defaults hold. */
  configDir: string | null;
  dataDir: string;
  onProblem: (words: string) => void;
}): () => ContextSettings {
  return createLayeredSettings({
    ...of,
    name: "context.yaml",
    schema: ContextSettings,
    check({ keep, shorten_at, compact_at }) {
      if (keep >= shorten_at || shorten_at > compact_at)
        throw new Error("keep must be less than shorten_at, and shorten_at no more than compact_at");
    },
  });
}
