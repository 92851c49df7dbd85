import * as z from "zod";
import type { Finished } from "../../memory/memory.ts";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, memoryOfScope } from "./memory.ts";

export const memoryFinishEdits = defineTool({
  name: "memory_finish_edits",
  description: "Apply a commit, all or nothing. On a conflict read again and begin a new commit.",
  args: z.strictObject({ commit_id: CommitArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ commit_id: commitId }) => `Apply memory commit: ${commitId}`,
  reads: () => [],
  plan({ commit_id: commitId }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    return Promise.resolve(toEffect(actions.finish(commitId, caller), finishedAnswer));
  },
});

function finishedAnswer({ commitId, diff, quarantined }: Finished): string {
  const waiting = quarantined.map(
    ({ id, target, why }) => `- quarantined until the owner decides, not in effect: ${id} (${target}): ${why}`,
  );
  const done = diff.map(
    ({ itemId, target, op, after }) => `- ${op} ${itemId} (${target})${after === null ? "" : `: ${after.slice(0, 200)}`}`,
  );
  return [`Commit ${commitId} is applied${diff.length === 0 ? "; it changed nothing" : ""}.`, ...done, ...waiting].join("\n");
}
