import * as z from "zod";
import { Id } from "./common.ts";
import { method } from "./method.ts";

/** Texts that come in by a call: bytes of UTF-8 (requirement X2). Attachments have limits of their own. */
export const maxTextBytes = 1_000_000;

export const securityMethods = {
  "security.inspect": method({
    summary: "What in a text looks like an attempt to give orders past the owner. The text itself is never changed.",
    access: "any",
    params: z.object({ text: z.string().max(1_000_000) }),
    result: z.object({
      /** False when something was found. */
      allowed: z.boolean(),
      findings: z.array(z.object({ rule: z.string(), kind: z.enum(["phrase", "pattern"]), match: z.string() })),
      /** The copy that was looked at. */
      normalized: z.string(),
    }),
  }),
  "security.redact": method({
    summary: "A text with its secrets replaced, and what was found.",
    access: "any",
    params: z.object({ text: z.string().max(1_000_000) }),
    result: z.object({ text: z.string(), findings: z.array(z.object({ kind: z.string(), placeholder: z.string() })) }),
  }),
  "repl.run": method({
    summary: "Runs ls, cat, grep, find, cp or mv in the workspace, without a shell, by the full road.",
    access: "owner",
    params: z.object({ command: z.string().min(1).max(10_000), questId: Id.optional() }),
    result: z.object({ output: z.string(), receiptId: Id.nullable() }),
  }),
};
