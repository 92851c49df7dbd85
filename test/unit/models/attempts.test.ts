import { expect, it } from "vitest";
import type { Usage } from "../../../agent-server/contract/chat.ts";
import { createModelsFixture, localIn } from "../../support/models-fixture.ts";

it("an answer that its reader leaves is counted, and its room under the cap is given back", async () => {
  const counted: Usage[] = [];
  let released = 0;
  const made = createModelsFixture({
    local: localIn({ status: "ready" }),
    usage: {
      admit: () => ({ id: "", release: () => void (released += 1) }),
      count: ({ usage }) => {
        counted.push(usage);
        return { costUsd: 0 };
      },
    },
  });
  const request = { system: "", messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }], tools: [] };
  const context = { questId: null, parentId: null, signal: new AbortController().signal };
  for await (const event of made.models.stream(request, context)) if (event.type === "text") break;
  expect(counted).toHaveLength(1);
  expect(counted[0]?.outputTokens).toBeGreaterThan(0);
  expect(released).toBe(1);
  await made.close();
});
