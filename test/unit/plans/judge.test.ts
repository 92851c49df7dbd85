import { expect, it } from "vitest";
import type { ModelEvent, ModelRequest } from "../../../agent-server/models/models.ts";
import { createJudge } from "../../../agent-server/plans/judge.ts";

const step = { id: "1", title: "Write it", doneWhen: ["It reads well"], actions: [], checks: [], attempts: 1, receiptId: null };

function judgeThat(answers: string) {
  const requests: ModelRequest[] = [];
  const used = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpricedCalls: 0 };
  const judge = createJudge(
    {
      models: {
        async *stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
          requests.push(request);
          yield {
            ...{ type: "done", stop: "end", malformed: [], content: [{ type: "text", text: answers }] },
            usage: { inputTokens: 7, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, cacheWriteTokens: 0, toolTokens: 0 },
          };
        },
      },
      ledger: { ready: () => Promise.resolve() },
      store: {
        quest: () => ({ usage: { ...used } }),
        patch: (_id: string, { usage }: { usage: typeof used }) => Object.assign(used, usage),
      },
      redactor: { text: (text: string) => ({ text: text.replaceAll("sk-secret", "[hidden]") }) },
      log: () => {},
    } as unknown as Parameters<typeof createJudge>[0],
    {
      step: { ...step, status: "active" },
      lastAnswer: "I wrote it with sk-secret.",
      evidence: { edits: [{ path: "a.md", order: 1 }], commands: [], newErrors: [], readFile: () => Promise.resolve("text") },
      context: { questId: "q", parentId: "r", signal: new AbortController().signal },
    },
  );
  return { judge, requests, used };
}

it("asks the fast model almost without variation, by a schema, with redacted evidence and no tools", async () => {
  const { judge, requests, used } = judgeThat('{"results":[{"met":true,"why":"It does."}]}');
  expect(await judge(["It reads well"])).toEqual([{ met: true, why: "It does." }]);
  expect(requests).toMatchObject([{ temperature: 0.1, lane: "fast", tools: [], responseSchema: { name: "verdicts" } }]);
  expect(used).toMatchObject({ inputTokens: 107, outputTokens: 11 });
  expect(JSON.stringify(requests)).not.toContain("sk-secret");
});

it.each(["no JSON", '{"results":[]}', '{"results":[{"met":"yes"}]}'])("judges nothing from %s", async (answer) => {
  expect(await judgeThat(answer).judge(["It reads well"])).toBeNull();
});
