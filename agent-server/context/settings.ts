import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

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

/**
 * The shipped settings with the owner's laid over them, key by key, read again when a file is another one. A file that cannot be used
 * is left out as a whole, and `onProblem` is told why, once.
 */
export function createContextSettings(of: {
  /** The shipped `config/` folder; null: defaults hold. */
  configDir: string | null;
  dataDir: string;
  onProblem: (words: string) => void;
}): () => ContextSettings {
  const files = [...(of.configDir === null ? [] : [of.configDir]), join(of.dataDir, "config")].map((folder) =>
    join(folder, "context.yaml"),
  );
  let seen = "";
  let settings = ContextSettings.parse({});
  return () => {
    const stamp = files.map(stampOf).join();
    if (stamp === seen) return settings;
    seen = stamp;
    settings = load(files, of.onProblem);
    return settings;
  };
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${String(mtimeMs)}:${String(size)}:${String(ino)}`;
  } catch {
    // There is none, or it cannot be looked at: reading it will say why.
    return "none";
  }
}

function load(files: readonly string[], onProblem: (words: string) => void): ContextSettings {
  let laid: Record<string, unknown> = {};
  for (const path of files) {
    try {
      const text = readFileSync(path, "utf8");
      const tried = { ...laid, ...z.record(z.string(), z.unknown()).parse(parse(text, { maxAliasCount: 0 }) ?? {}) };
      const { keep, shorten_at, compact_at } = ContextSettings.parse(tried);
      if (keep >= shorten_at || shorten_at > compact_at)
        throw new Error("keep must be less than shorten_at, and shorten_at no more than compact_at");
      laid = tried;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") continue;
      onProblem(`The file config/context.yaml cannot be used, so the settings before it hold: ${wordsOf(error)}.`);
    }
  }
  return ContextSettings.parse(laid);
}

function wordsOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return issue === undefined ? "it is not as it should be" : `${issue.path.join(".") || "it"}: ${issue.message}`;
  }
  return error instanceof Error ? (error.message.split("\n")[0] ?? "it cannot be read") : "it cannot be read";
}
