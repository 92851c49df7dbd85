import * as z from "zod";
import type { RolledBack } from "../../memory/memory.ts";
import { asEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, ReasonArgument, remembering } from "./memory.ts";

export const memoryRollback = defineTool({
  name: "memory_rollback",
  description: "Take back a commit of memory that you made in this task; others are asked about.",
  args: z.strictObject({ commit_id: CommitArgument, reason: ReasonArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ commit_id: commitId }) => `Take back a change of memory: ${commitId}`,
  reads: () => [],
  plan({ commit_id: commitId, reason }, scope) {
    const { acts, caller } = remembering(scope);
    return Promise.resolve(asEffect(acts.rollback({ commitId, reason }, caller), rolledBackWords));
  },
});

function rolledBackWords({ commitId, rolledBack, diff }: RolledBack): string {
  if (commitId === null) return `Commit ${rolledBack.join(", ")} was not finished; it was dropped.`;
  const items = diff.map(
    ({ itemId, target, after }) => `- ${itemId} (${target}): ${after === null ? "gone" : `again "${after.slice(0, 200)}"`}`,
  );
  return [`Taken back: ${rolledBack.join(", ")}, as commit ${commitId}.`, ...items].join("\n");
}
