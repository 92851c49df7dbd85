import * as z from "zod";
import { asEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool, flag } from "../tool.ts";
import {
  editArguments,
  editWords,
  provenanceOf,
  remembering,
  SelectorArgument,
  TargetArgument,
  TextArgument,
  usualConfidence,
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
  title: ({ target, new_content: content }) => `Correct what is remembered (${target}): ${content.slice(0, 120)}`,
  reads: () => [],
  plan({ target, selector, new_content: content, reason, confidence, provenance, commit_id: commitId, rethink }, scope) {
    const { acts, caller } = remembering(scope);
    const act = acts.edit(
      {
        ...{ op: rethink === true ? "rethink" : "replace", target, selector, content, reason, commitId },
        confidence: confidence ?? usualConfidence,
        provenance: provenanceOf(provenance),
      },
      caller,
    );
    return Promise.resolve(asEffect(act, (edited) => editWords(acts, edited)));
  },
});
