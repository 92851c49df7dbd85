import * as z from "zod";
import type { SearchHit } from "../../contract/memory.ts";
import { memoryProvider } from "../memory/memory-action.ts";
import { defineTool } from "../tool.ts";
import { NamespaceArgument, memoryOfScope, TagsArgument, TiersArgument, words } from "./memory.ts";

/** Characters shown per item; of longer ones, the part around the match. */
const shownCharacters = 600;

export const memorySearch = defineTool({
  name: "memory_search",
  description:
    "Search what earlier tasks left in memory, in a few words: before you work out again what may be known, and before you remember something. Where files differ, they are right.",
  args: z.strictObject({
    query: words(0, 2000),
    tiers: TiersArgument.optional(),
    namespace: NamespaceArgument.optional(),
    tags: TagsArgument.optional(),
    limit: z.number().optional(),
  }),
  capability: "memory",
  action: "read",
  baseTier: "T0",
  actionType: "tool_call",
  provider: memoryProvider,
  title: ({ query }) => `Search memory: ${query.slice(0, 120)}`,
  reads: ({ query }) => [{ capability: "memory", action: "read", args: { query } }],
  plan({ query, tiers, namespace, tags, limit }, scope) {
    const { actions, caller } = memoryOfScope(scope);
    const { items } = actions.search(
      { query, tiers, namespace, tags, limit: Math.min(50, Math.max(1, Math.round(limit ?? 8))) },
      caller.quest,
    );
    const text = items.length === 0 ? "No matching memory." : items.map(hitAnswer).join("\n");
    return Promise.resolve({ kind: "answer", text, outputs: { found: items.length, items: items.map(({ item }) => item.id) } });
  },
});

function hitAnswer({ item, snippet }: SearchHit): string {
  const { id, tier, block, namespace, weight, updatedAt, tags, provenance, content } = item;
  const facts = [
    block === null ? tier : `core:${block}`,
    namespace,
    `confidence ${weight.toFixed(2)}`,
    `${provenance.source === "user" ? "said by the owner" : `from ${provenance.source}`}, ${updatedAt.slice(0, 10)}`,
    ...(tags.length === 0 ? [] : [tags.join(", ")]),
  ];
  return `- ${content.length > shownCharacters ? snippet : content}\n  [${id}; ${facts.join("; ")}]`;
}
