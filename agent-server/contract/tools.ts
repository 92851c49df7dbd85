import * as z from "zod";
import { Id, Tier } from "./common.ts";
import { method } from "./method.ts";

export const ToolInfo = z.object({
  name: z.string(),
  description: z.string(),
  capability: z.string(),
  action: z.string(),
  /** Tier before paths, patterns and the soul raise it. */
  baseTier: Tier,
  /** JSON Schema of the arguments. */
  parameters: z.record(z.string(), z.unknown()),
  /** Why the tool is unavailable; null when it is available. */
  problem: z.string().nullable(),
});
export type ToolInfo = z.infer<typeof ToolInfo>;

export const SearchMatch = z.object({
  path: z.string(),
  /** 1-based. */
  line: z.int(),
  text: z.string(),
});
export type SearchMatch = z.infer<typeof SearchMatch>;

export const toolMethods = {
  "tools.list": method({
    summary: "Lists the tools that the model can use.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(ToolInfo) }),
  }),
  "tools.invoke": method({
    summary: "Runs one tool through the execution pipeline: decision, approval, receipt, checkpoint, effect, verification.",
    access: "owner",
    params: z.object({ tool: z.string().min(1).max(100), args: z.record(z.string(), z.unknown()).default({}), questId: Id.optional() }),
    result: z.object({ output: z.string(), receiptId: Id, changeId: Id.nullable() }),
  }),
  "workspace.search": method({
    summary: "Searches lines of workspace files, respecting ignore files.",
    access: "any",
    params: z.object({
      query: z.string().min(1).max(1000),
      regex: z.boolean().default(false),
      glob: z.string().max(500).optional(),
      limit: z.int().min(1).max(1000).default(100),
    }),
    result: z.object({ items: z.array(SearchMatch), truncated: z.boolean() }),
  }),
  "workspace.files": method({
    summary: "Finds workspace files whose path contains the query, best match first; for @ mentions.",
    access: "any",
    params: z.object({ query: z.string().max(500).default(""), limit: z.int().min(1).max(200).default(50) }),
    result: z.object({ items: z.array(z.string()) }),
  }),
  "tools.safeMode": method({
    summary: "Turns safe mode on or off. In safe mode only local features work: no network, connectors, deployment or push.",
    access: "owner",
    params: z.object({ enabled: z.boolean() }),
    result: z.object({ enabled: z.boolean() }),
  }),
};
