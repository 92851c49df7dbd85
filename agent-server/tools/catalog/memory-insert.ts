import * as z from "zod";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import {
  editArguments,
  editAnswer,
  KindArgument,
  NamespaceArgument,
  provenanceOf,
  memoryOfScope,
  TagsArgument,
  TargetArgument,
  TextArgument,
  defaultConfidence,
} from "./memory.ts";

export const memoryInsert = defineTool({
  name: "memory_insert",
  description:
    "Remember one fact, in one sentence, that you learned here and that will still be true and useful in a later task: a decision, convention, cause, how things are run; with evidence. Not what the files or git tell anyway, no guesses, no secrets. Edits of core wait for the owner.",
  args: z.strictObject({
    target: TargetArgument.describe("archival, working (this task), episodic, or core:human, operating_rules, mission, workspace_state"),
    content: TextArgument,
    ...editArguments,
    provenance: editArguments.provenance.describe("Evidence: message:<id>, receipt:<id>, file or URL"),
    tags: TagsArgument.optional(),
    kind: KindArgument.optional(),
    namespace: NamespaceArgument.optional(),
    ttl_seconds: z
      .number()
      .refine((seconds) => Number.isInteger(seconds) && seconds >= 60 && seconds <= 2_592_000, "60 to 2592000")
      .optional(),
  }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ target, content }) => `Remember (${target}): ${content.slice(0, 120)}`,
  reads: () => [],
  plan({ target, content, reason, confidence, provenance, commit_id: commitId, tags, kind, namespace, ttl_seconds: ttlSeconds }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    const action = actions.edit(
      {
        ...{ op: "insert", target, content, reason, tags, kind, namespace, ttlSeconds, commitId },
        confidence: confidence ?? defaultConfidence,
        provenance: provenanceOf(provenance),
      },
      caller,
    );
    return Promise.resolve(toEffect(action, (edited) => editAnswer(actions, edited)));
  },
});
