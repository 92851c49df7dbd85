import { join } from "node:path";
import type { Usage } from "../../agent-server/contract/chat.ts";
import { geminiCaches } from "../../agent-server/models/providers/gemini-caches.ts";
import { createServerMemory } from "../../agent-server/models/providers/server-memory.ts";
import { costOf, costWithoutCache, toUsd } from "../../agent-server/models/usage/call-cost.ts";
import { createPrices } from "../../agent-server/models/usage/prices.ts";
import { createAccounts } from "../support/model-server/accounts.ts";
import { playQuest } from "../support/providers/long-quest.ts";
import { subjects } from "../support/providers/subjects.ts";
import type { BenchRow } from "./bench-row.ts";

const calls = 20;
const configDir = join(import.meta.dirname, "../../config");

/** Making an explicit cache reads its tokens once more, which without it nobody would. */
const plain = (usage: Usage, by: string): Usage =>
  by.includes("explicit") ? { ...usage, inputTokens: usage.inputTokens - usage.cacheWriteTokens } : usage;

/**
 * What caching is worth over a quest of twenty calls: tokens that a server which accounts caches as documented charges as cached, and
 * their cost by the price table, against the same tokens at the plain price. Measured on requests as they are really sent.
 */
export async function run(): Promise<BenchRow[]> {
  const prices = createPrices({ configDir, dataDir: "/nonexistent" });
  const rows: BenchRow[] = [];
  const cases = [
    ...subjects
      .filter(({ mode, name }) => mode === "api" && ["anthropic", "openai", "xai"].includes(name))
      .map((subject) => ({ subject, by: "" })),
    ...subjects
      .filter(({ mode, name }) => mode === "api" && name === "gemini")
      .flatMap((subject) => [
        { subject, by: ", explicit cache" },
        { subject, by: ", the server's own cache" },
      ]),
  ];
  for (const { subject, by } of cases) {
    const price = prices.of({ provider: subject.name, kind: subject.kind, model: subject.model, onThisMachine: false }, prices.updated());
    if (price === null) throw new Error(`no price for ${subject.model}`);
    const memory = createServerMemory();
    const accounts = createAccounts({ geminiCachesByItself: by.includes("own") });
    const played = await playQuest(subject, {
      calls,
      cacheKey: "quest",
      accounts,
      memory,
      // A cache is made behind an answer; a real model takes longer to answer than that takes.
      between: () => geminiCaches(memory).settled(),
    });
    const [withCache, without] = [
      played.calls.map((usage) => costOf(price, usage)),
      played.calls.map((usage) => costWithoutCache(price, plain(usage, by))),
    ];
    const outputs = played.calls.map((usage) =>
      costOf(price, { ...usage, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, toolTokens: 0 }),
    );
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const input = { ours: toUsd(sum(withCache) - sum(outputs)), bare: toUsd(sum(without) - sum(outputs)) };
    const { usage } = played;
    rows.push({
      name: `input cost of ${calls} calls, ${subject.model}${by}`,
      ours: input.ours * 100,
      bare: input.bare * 100,
      ratio: input.ours / input.bare,
      unit: "US cents",
      note: `${usage.inputTokens} tokens in, ${usage.cachedInputTokens} read from the cache, ${usage.cacheWriteTokens} written${by.includes("explicit") ? "; the hour's rent of the cache is not in it" : ""}`,
    });
  }
  return rows;
}
