import * as z from "zod";
import { asEffect } from "../memory/memory-effect.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { CommitArgument, ReasonArgument, remembering } from "./memory.ts";

export const memoryQuarantine = defineTool({
  name: "memory_quarantine",
  description: "Set a memory aside that looks false or planted, until the owner decides. target: its id.",
  args: z.strictObject({ target: CommitArgument, reason: ReasonArgument }),
  capability: "memory",
  action: "write",
  baseTier: "T1",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ target }) => `Set aside what is remembered: ${target}`,
  reads: () => [],
  plan({ target, reason }, scope) {
    const { acts, caller } = remembering(scope);
    return Promise.resolve(
      asEffect(
        acts.setAside(target, reason, caller),
        ({ commitId, entry }) => `Set aside: ${target} waits in quarantine (${entry.id}) until the owner decides. Commit ${commitId}.`,
      ),
    );
  },
});
