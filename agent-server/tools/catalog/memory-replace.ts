import * as z from "zod";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool, flag } from "../tool.ts";
import {
  editArguments,
  editAnswer,
  provenanceOf,
  memoryOfScope,
  SelectorArgument,
  TargetArgument,
  TextArgument,
  defaultConfidence,
} from "./memory.ts";

export const memoryReplace = defineTool({
  name: "memory_replace",
  description:
    "Correct a memory that is no longer right. selector: its id, or text that no other has. rethink: true rewrites it from what is known now (working, archival).",
  args: z.strictObject({
    target: TargetArgument,
    selector: SelectorArgument,
    new_content: TextArgument,
    ...editArguments,
    rethink: flag().optional(),
  }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ target, new_content: content }) => `Correct a memory (${target}): ${content.slice(0, 120)}`,
  reads: () => [],
  plan({ target, selector, new_content: content, reason, confidence, provenance, commit_id: commitId, rethink }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    const action = actions.edit(
      {
        ...{ op: rethink === true ? "rethink" : "replace", target, selector, content, reason, commitId },
        confidence: confidence ?? defaultConfidence,
        provenance: provenanceOf(provenance),
      },
      caller,
    );
    return Promise.resolve(toEffect(action, (edited) => editAnswer(actions, edited)));
  },
});
