import * as z from "zod";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { ReasonArgument, memoryOfScope } from "./memory.ts";

export const memoryBeginEdits = defineTool({
  name: "memory_begin_edits",
  description: "Begin a commit of several edits that belong together; a single edit needs none.",
  args: z.strictObject({ reason: ReasonArgument.optional() }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: () => "Begin a memory commit",
  reads: () => [],
  plan({ reason }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    return Promise.resolve(toEffect(actions.begin(reason ?? "", caller), ({ commitId }) => `commit_id: ${commitId}`));
  },
});
