import * as z from "zod";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { memoryOfScope } from "./memory.ts";

export const memoryGetCoreBlocks = defineTool({
  name: "memory_get_core_blocks",
  description: "The core blocks, with ids and how full they are.",
  args: z.strictObject({}),
  capability: "memory",
  action: "read",
  baseTier: "T0",
  actionType: "tool_call",
  provider: memoryProvider,
  title: () => "Read the core blocks of memory",
  reads: () => [{ capability: "memory", action: "read", args: {} }],
  plan(_args, scope) {
    const blocks = memoryOfScope(scope).actions.core();
    const text = blocks
      .map(({ block, tokens, cap, entries, text: whole }) => {
        const lines = entries.map(({ id, content }) => `- ${content} [${id}]`);
        const said = entries.length === 0 ? (whole === "" ? ["(empty)"] : [whole]) : lines;
        return [`core:${block} (${tokens} of ${cap} tokens${block === "persona" ? ", from the soul, never edited" : ""})`, ...said].join(
          "\n",
        );
      })
      .join("\n\n");
    return Promise.resolve({ kind: "answer", text, outputs: { blocks: blocks.map(({ block, tokens }) => ({ block, tokens })) } });
  },
});
