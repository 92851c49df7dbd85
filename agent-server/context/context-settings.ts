import * as z from "zod";
import { type ConfigFile, createLayeredConfig } from "../storage/storage.ts";

const Share = z.number().min(0.05).max(1);

/** `config/context.yaml`. Token counts are estimates; shares are fractions of the conversation's budget. */
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

/** The current settings: the shipped file, overridden by the owner's. */
export function createContextSettings(of: {
  /** The shipped `config/` folder; null to use the defaults. */
  configDir: string | null;
  dataDir: string;
  onProblem: (message: string) => void;
}): ConfigFile<ContextSettings> {
  return createLayeredConfig({
    ...of,
    name: "context.yaml",
    schema: ContextSettings,
    check({ keep, shorten_at, compact_at }) {
      if (keep >= shorten_at || shorten_at > compact_at)
        throw new Error("keep must be less than shorten_at, and shorten_at no more than compact_at");
    },
  });
}
