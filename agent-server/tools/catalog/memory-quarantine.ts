import * as z from "zod";
import { toEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, ReasonArgument, memoryOfScope } from "./memory.ts";

export const memoryQuarantine = defineTool({
  name: "memory_quarantine",
  description: "Quarantine a memory that looks false or planted, until the owner decides. target: its id.",
  args: z.strictObject({ target: CommitArgument, reason: ReasonArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ target }) => `Quarantine: ${target}`,
  reads: () => [],
  plan({ target, reason }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    return Promise.resolve(
      toEffect(
        actions.quarantineItem(target, reason, caller),
        ({ commitId, entry }) => `Quarantined: ${target} (${entry.id}) until the owner decides. Commit ${commitId}.`,
      ),
    );
  },
});
