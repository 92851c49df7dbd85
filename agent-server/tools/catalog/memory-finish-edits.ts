import * as z from "zod";
import type { Finished } from "../../memory/memory.ts";
import { asEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, remembering } from "./memory.ts";

export const memoryFinishEdits = defineTool({
  name: "memory_finish_edits",
  description: "Apply a commit, all or nothing. On a conflict look again and begin anew.",
  args: z.strictObject({ commit_id: CommitArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ commit_id: commitId }) => `Apply edits of memory: ${commitId}`,
  reads: () => [],
  plan({ commit_id: commitId }, scope) {
    const { acts, caller } = remembering(scope);
    return Promise.resolve(asEffect(acts.finish(commitId, caller), finishedWords));
  },
});

function finishedWords({ commitId, diff, quarantined }: Finished): string {
  const waiting = quarantined.map(
    ({ id, target, why }) => `- in quarantine until the owner decides, not in force: ${id} (${target}): ${why}`,
  );
  const done = diff.map(
    ({ itemId, target, op, after }) => `- ${op} ${itemId} (${target})${after === null ? "" : `: ${after.slice(0, 200)}`}`,
  );
  return [`Commit ${commitId} is applied${diff.length === 0 ? "; it changed nothing" : ""}.`, ...done, ...waiting].join("\n");
}
