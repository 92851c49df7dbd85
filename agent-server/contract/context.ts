import * as z from "zod";
import { Id, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** An item in a task's prompts that counts against its budget. */
export const ContextItem = z.object({
  /** Path relative to the workspace; a name for other kinds. */
  path: z.string(),
  kind: z.enum(["instruction", "file", "selection", "outline", "tool_output", "plan", "soul", "approval", "fact", "summary", "memory"]),
  /** `owner`: the owner's messages and files. `repository` and `tool`: text that is fenced as data. */
  origin: z.enum(["owner", "host", "repository", "tool"]),
  /** Estimated. */
  tokens: z.int(),
  /** Never evicted: soul, rules, plan, pending approvals, and items the owner pinned. */
  pinned: z.boolean(),
  state: z.enum(["whole", "summarized", "left_out"]),
  /** Why it is summarized or left out; null when whole. */
  reason: z.string().nullable(),
  lastUsedAt: Timestamp.nullable(),
});
export type ContextItem = z.infer<typeof ContextItem>;

export const OutlineEntry = z.object({
  name: z.string(),
  /** Symbol kind from tree-sitter or the editor: function, class, method, … */
  kind: z.string(),
  /** From 1. */
  startLine: z.int(),
  endLine: z.int(),
  /** Nesting depth. */
  depth: z.int(),
  signature: z.string(),
});
export type OutlineEntry = z.infer<typeof OutlineEntry>;

const Named = z.object({ questId: Id, path: z.string().min(1).max(4096) });

export const contextMethods = {
  "context.items": method({
    summary: "Lists the items of a task's next prompt and its budget.",
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
      "Adds a workspace file or folder, or a named fact, to a task's context until it is removed. Pinned items and facts are never evicted.",
    access: "any",
    /** `questId` is required; without it, the error says what to do. */
    params: Named.extend({ questId: Id.optional(), pinned: z.boolean().default(false), text: z.string().min(1).max(4000).optional() }),
    result: ContextItem,
  }),
  "context.remove": method({
    summary: "Removes an item from a task's context.",
    access: "any",
    params: Named,
    result: z.object({ removed: z.boolean() }),
  }),
  "context.compact": method({
    summary: "Summarizes the older part of a task now. Soul, rules, plan, pending approvals and pinned facts are kept verbatim.",
    access: "any",
    params: z.object({ questId: Id }),
    result: z.object({ before: z.int(), after: z.int(), receiptId: Id }),
  }),
  "workspace.outline": method({
    summary: "Returns the outline of a source file: its symbols with line numbers.",
    access: "any",
    params: z.object({ path: z.string().min(1).max(4096) }),
    result: z.object({
      path: z.string(),
      language: z.string(),
      /** `parser`: a document parser, for Markdown, JSON or YAML. */
      source: z.enum(["tree-sitter", "editor", "parser"]),
      entries: z.array(OutlineEntry),
      /** Why the outline may be incomplete (syntax errors, a limit); null when it is complete. */
      problem: z.string().nullable(),
    }),
  }),
};
