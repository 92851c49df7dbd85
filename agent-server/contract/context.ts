import * as z from "zod";
import { Id, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** Something that stands in a task's prompts and counts against its budget. */
export const ContextItem = z.object({
  /** Relative to the workspace; of other kinds a name. */
  path: z.string(),
  kind: z.enum(["instruction", "file", "selection", "outline", "tool_output", "plan", "soul", "approval", "fact", "summary", "memory"]),
  /** The owner's words and files, or text of the repository and of tools, which is marked as data. */
  origin: z.enum(["owner", "host", "repository", "tool"]),
  /** Estimated. */
  tokens: z.int(),
  /** Never leaves: soul, rules, the plan, open approvals, what the owner pinned. */
  pinned: z.boolean(),
  state: z.enum(["whole", "summarized", "left_out"]),
  /** Why it is summarized or left out; null when whole. */
  reason: z.string().nullable(),
  lastUsedAt: Timestamp.nullable(),
});
export type ContextItem = z.infer<typeof ContextItem>;

export const OutlineEntry = z.object({
  name: z.string(),
  /** As tree-sitter or the editor names it: function, class, method, … */
  kind: z.string(),
  /** From 1. */
  startLine: z.int(),
  endLine: z.int(),
  /** How many entries it lies in. */
  depth: z.int(),
  signature: z.string(),
});
export type OutlineEntry = z.infer<typeof OutlineEntry>;

const Named = z.object({ questId: Id, path: z.string().min(1).max(4096) });

export const contextMethods = {
  "context.items": method({
    summary: "What a task's next prompt is made of, against its budget.",
    access: "any",
    params: z.object({ questId: Id.optional() }),
    result: z.object({
      items: z.array(ContextItem),
      /** Tokens. */
      budget: z.int(),
      used: z.int(),
      window: z.int(),
    }),
  }),
  "context.add": method({
    summary:
      "Adds a file or folder of the workspace to a task's context, or a fact in words under a name; it stays until it is removed. Pinned ones, and facts always, never make room.",
    access: "any",
    params: Named.extend({ pinned: z.boolean().default(false), text: z.string().min(1).max(4000).optional() }),
    result: ContextItem,
  }),
  "context.remove": method({
    summary: "Takes a file out of a task's context.",
    access: "any",
    params: Named,
    result: z.object({ removed: z.boolean() }),
  }),
  "context.compact": method({
    summary: "Summarizes the older part of a task now. Soul, rules, plan, open approvals and pinned facts stay word for word.",
    access: "any",
    params: z.object({ questId: Id }),
    result: z.object({ before: z.int(), after: z.int(), receiptId: Id }),
  }),
  "workspace.outline": method({
    summary: "The outline of a source file: what it defines, with lines.",
    access: "any",
    params: z.object({ path: z.string().min(1).max(4096) }),
    result: z.object({
      path: z.string(),
      language: z.string(),
      /** `parser`: that of a document such as Markdown, JSON or YAML. */
      source: z.enum(["tree-sitter", "editor", "parser"]),
      entries: z.array(OutlineEntry),
      /** Why it may not be the whole: syntax errors, a bound; null when it is. */
      problem: z.string().nullable(),
    }),
  }),
};
