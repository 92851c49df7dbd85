import * as z from "zod";
import type { RolledBack } from "../../memory/memory.ts";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, ReasonArgument, memoryOfScope } from "./memory.ts";

export const memoryRollback = defineTool({
  name: "memory_rollback",
  description: "Roll back a memory commit that you made in this task; others require approval.",
  args: z.strictObject({ commit_id: CommitArgument, reason: ReasonArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ commit_id: commitId }) => `Roll back a memory commit: ${commitId}`,
  reads: () => [],
  plan({ commit_id: commitId, reason }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    return Promise.resolve(toEffect(actions.rollback({ commitId, reason }, caller), rolledBackAnswer));
  },
});

function rolledBackAnswer({ commitId, rolledBack, diff }: RolledBack): string {
  if (commitId === null) return `Commit ${rolledBack.join(", ")} was not finished; it was abandoned.`;
  const items = diff.map(
    ({ itemId, target, after }) => `- ${itemId} (${target}): ${after === null ? "deleted" : `restored "${after.slice(0, 200)}"`}`,
  );
  return [`Rolled back: ${rolledBack.join(", ")}, as commit ${commitId}.`, ...items].join("\n");
}
