import * as z from "zod";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { editArguments, editAnswer, provenanceOf, memoryOfScope, SelectorArgument, TargetArgument, defaultConfidence } from "./memory.ts";

export const memoryDelete = defineTool({
  name: "memory_delete",
  description: "Forget a memory that turned out wrong; selector as in memory_replace.",
  args: z.strictObject({ target: TargetArgument, selector: SelectorArgument, ...editArguments }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ target, selector }) => `Forget (${target}): ${selector.slice(0, 120)}`,
  reads: () => [],
  plan({ target, selector, reason, confidence, provenance, commit_id: commitId }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    const action = actions.edit(
      {
        ...{ op: "delete", target, selector, reason, commitId },
        confidence: confidence ?? defaultConfidence,
        provenance: provenanceOf(provenance),
      },
      caller,
    );
    return Promise.resolve(toEffect(action, (edited) => editAnswer(actions, edited)));
  },
});
