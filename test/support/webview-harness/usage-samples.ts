import type { LocalServer } from "../../../agent-server/contract/models.ts";
import type { RouterDecision } from "../../../agent-server/contract/router.ts";
import type { UsageRow, UsageSum, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { at, sampleNow } from "./samples.ts";

const lanesOfDay = [0.31, 0.92, 0, 1.8, 0.44, 0, 0, 2.1, 0.66, 0.12] as const;

export function sampleUsageSum(patch: Partial<UsageSum> = {}): UsageSum {
  return {
    calls: 41,
    usage: {
      ...{ inputTokens: 1_204_311, outputTokens: 38_204, cachedInputTokens: 902_114 },
      ...{ reasoningTokens: 12_400, cacheWriteTokens: 60_233, toolTokens: 0 },
    },
    costUsd: 2.314_82,
    cacheSavingsUsd: 1.71,
    unpricedCalls: 0,
    ...patch,
  };
}

export function sampleUsageRow(key: string, name: string, patch: Partial<UsageSum> = {}): UsageRow {
  return { key, name, ...sampleUsageSum(patch) };
}

export function sampleUsage(patch: Partial<UsageSummary> = {}): UsageSummary {
  const dayBefore = (count: number): string => new Date(sampleNow - count * 86_400_000).toISOString().slice(0, 10);
  return {
    total: sampleUsageSum({ calls: 214, costUsd: 6.351, unpricedCalls: 3 }),
    today: sampleUsageSum({ calls: 12, costUsd: 0.31 }),
    byLane: [
      sampleUsageRow("flagship_deep", "Deep", { calls: 9, costUsd: 3.91 }),
      sampleUsageRow("flagship_fast", "Fast", { calls: 118, costUsd: 2.441 }),
      sampleUsageRow("local_utility", "Local", { calls: 84, costUsd: 0 }),
      sampleUsageRow("local_redaction", "Redaction on this machine", { calls: 3, costUsd: 0 }),
    ],
    byProvider: [
      sampleUsageRow("anthropic", "Anthropic", { calls: 124, costUsd: 6.351 }),
      sampleUsageRow("work", "Our cluster", { calls: 3, costUsd: 0, unpricedCalls: 3 }),
      sampleUsageRow("local", "Local model", { calls: 87, costUsd: 0 }),
    ],
    byModel: [
      sampleUsageRow("anthropic/claude-opus-5-5", "claude-opus-5-5", { calls: 9, costUsd: 3.91 }),
      sampleUsageRow("anthropic/claude-sonnet-5-5", "claude-sonnet-5-5", { calls: 115, costUsd: 2.441 }),
      sampleUsageRow("work/qwen3-coder", "qwen3-coder", { calls: 3, costUsd: 0, unpricedCalls: 3 }),
      sampleUsageRow("local/Qwen3-4B-Instruct-2507-Q4_K_M", "Qwen3-4B-Instruct-2507-Q4_K_M", { calls: 87, costUsd: 0 }),
    ],
    byQuest: [
      sampleUsageRow("quest-1", "Find out why the invoice test fails", { calls: 150, costUsd: 5.2 }),
      sampleUsageRow("gone", "A deleted task", { calls: 40, costUsd: 1.151 }),
      sampleUsageRow("", "Outside a task", { calls: 24, costUsd: 0 }),
    ],
    byDay: lanesOfDay.map((cost, index) => ({
      ...sampleUsageRow(dayBefore(lanesOfDay.length - 1 - index), "", { costUsd: cost }),
      lanes: [
        sampleUsageRow("flagship_deep", "Deep", { costUsd: cost * 0.6 }),
        sampleUsageRow("flagship_fast", "Fast", { costUsd: cost * 0.4 }),
        sampleUsageRow("local_utility", "Local", { costUsd: 0 }),
      ],
    })),
    savings: { localCalls: 87, localTokens: 190_233, savedUsd: 0.402, comparedWith: "anthropic/claude-sonnet-5-5", cacheSavingsUsd: 1.71 },
    caps: { questUsd: 2.5, dayUsd: 5 },
    capsProblem: null,
    prices: { updated: "2026-11-06", missing: ["work/qwen3-coder"], problem: null },
    since: at(2_000_000),
    ...patch,
  };
}

export function sampleDecision(patch: Partial<RouterDecision> = {}): RouterDecision {
  return {
    id: "decision-1",
    timestamp: at(60),
    taskType: "chat",
    lane: "flagship_deep",
    provider: "anthropic",
    model: "claude-opus-5-5",
    rationale: "The request speaks of a production database, so the deep lane looks at it.",
    rule: "risk",
    alternatives: [
      { lane: "flagship_fast", provider: "anthropic", model: "claude-sonnet-5-5", reason: "The words of risk ask for more thought." },
      { lane: "local_utility", provider: "local", model: "Qwen3-4B-Instruct", reason: "It is too small for changes to files." },
    ],
    elapsedMs: 14_220,
    success: true,
    error: null,
    questId: "quest-1",
    receiptId: "receipt-3",
    ...patch,
  };
}

export function sampleRouterStats(patch: Record<string, unknown> = {}) {
  return {
    ...{ total: 96, succeeded: 93, failed: 3, byLane: { flagship_fast: 60 }, byRule: { default: 55 }, byProvider: { anthropic: 80 } },
    ...{ localShare: 0.38, medianMs: 4210, problem: null, offline: false },
    breakers: [{ provider: "anthropic", state: "closed" as const, retryAt: null, reason: null }],
    ...patch,
  };
}

export function sampleServer(patch: Partial<LocalServer> = {}): LocalServer {
  return {
    kind: "ollama",
    displayName: "Ollama",
    url: "http://127.0.0.1:11434/v1",
    models: [
      { model: "qwen3:8b", contextWindow: 40_960 },
      { model: "llama3.2:3b", contextWindow: null },
    ],
    structured: true,
    provider: null,
    problem: null,
    ...patch,
  };
}
