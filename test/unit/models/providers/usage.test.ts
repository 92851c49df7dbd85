import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { noUsage, Usage } from "../../../../agent-server/contract/chat.ts";
import { createUsageCount } from "../../../../agent-server/models/providers/anthropic-answer.ts";
import { toUsage as fromGemini } from "../../../../agent-server/models/providers/gemini-answer.ts";
import { toUsage as fromChat } from "../../../../agent-server/models/providers/openai-chat-answer.ts";
import { toUsage as fromResponses } from "../../../../agent-server/models/providers/openai-responses-answer.ts";

interface Fixture {
  name: string;
  format: "anthropic" | "responses" | "chat" | "gemini";
  /** Usage objects as the provider sends them over one stream. */
  reports: (Record<string, unknown> | null)[];
  /** The provider's own total; where it tells none, the sum of what it documents as parts of it. */
  total: number;
  usage: Usage;
}

const file = join(import.meta.dirname, "../../../fixtures/provider-usage.json");
const fixtures = JSON.parse(readFileSync(file, "utf8")) as Fixture[];

/** What the readers of answers do with the reports of a stream. */
function count({ format, reports }: Fixture): Usage {
  if (format === "anthropic") {
    const counting = createUsageCount();
    for (const report of reports) counting.report(report);
    return counting.usage();
  }
  let usage = noUsage();
  for (const report of reports) {
    if (format === "gemini") usage = fromGemini(report ?? {}, usage);
    else usage = format === "chat" ? fromChat(report ?? {}) : fromResponses(report);
  }
  return usage;
}

describe("tokens are counted as the provider counts them", () => {
  it.each(fixtures.map((fixture) => [fixture.name, fixture] as const))("%s", (_, fixture) => {
    const usage = count(fixture);
    expect(usage).toEqual(fixture.usage);
    expect(usage.inputTokens + usage.outputTokens).toBe(fixture.total);
    expect(Usage.parse(usage)).toEqual(usage);
    // Parts are parts.
    expect(usage.cachedInputTokens + usage.cacheWriteTokens + usage.toolTokens).toBeLessThanOrEqual(usage.inputTokens);
    expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
  });
});
