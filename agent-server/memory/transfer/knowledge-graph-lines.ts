import * as z from "zod";
import { Tag } from "../../contract/memory.ts";
import { ItemLine, type ParsedLine } from "./export-lines.ts";

const Name = z.string().min(1).max(2_000);

/** A line of `memory.jsonl` of @modelcontextprotocol/server-memory: a graph of entities with observations, and relations. */
export const GraphLine = z.discriminatedUnion("type", [
  z.object({ type: z.literal("entity"), name: Name, entityType: z.string().max(2_000), observations: z.array(z.string()) }),
  z.object({ type: z.literal("relation"), from: Name, to: Name, relationType: z.string().min(1).max(2_000) }),
]);

/** The facts of a line: one per observation, per entity without observations, and per relation. */
export function factsOf(line: number, graph: z.infer<typeof GraphLine>): ParsedLine[] {
  if (graph.type === "relation") return [fact(line, `${graph.from} ${graph.relationType.replaceAll("_", " ")} ${graph.to}`, [])];
  const { name, entityType } = graph;
  const tags = [name, entityType].filter((tag) => Tag.safeParse(tag).success);
  const observed = graph.observations.map((text) => text.trim()).filter((text) => text !== "");
  if (observed.length === 0) return [fact(line, entityType === "" ? name : `${name}: ${entityType}`, tags)];
  return observed.map((text) => fact(line, `${name}: ${text}`, tags));
}

function fact(line: number, content: string, tags: readonly string[]): ParsedLine {
  const item = ItemLine.parse({
    target: "archival",
    kind: "fact",
    content,
    tags: [...new Set(tags)],
    provenance: { source: "agent", ref: "memory.jsonl" },
  });
  return { line, item };
}
