import * as z from "zod";
import { Id } from "./common.ts";
import { method } from "./method.ts";

/** Maximum UTF-8 bytes of a text in a call (requirement X2). Attachments have separate limits. */
export const maxTextBytes = 1_000_000;

export const securityMethods = {
  "security.inspect": method({
    summary: "Detects injected instructions in a text. Does not change the text.",
    access: "any",
    params: z.object({ text: z.string().max(1_000_000) }),
    result: z.object({
      /** False when a rule matched. */
      allowed: z.boolean(),
      findings: z.array(z.object({ rule: z.string(), kind: z.enum(["phrase", "pattern"]), match: z.string() })),
      /** The normalized text that was inspected. */
      normalized: z.string(),
    }),
  }),
  "security.redact": method({
    summary: "Redacts the secrets and personal data in a text, and lists the findings.",
    access: "any",
    params: z.object({ text: z.string().max(1_000_000) }),
    result: z.object({ text: z.string(), findings: z.array(z.object({ kind: z.string(), placeholder: z.string() })) }),
  }),
  "repl.run": method({
    summary: "Runs ls, cat, grep, find, cp or mv in the workspace without a shell, through the execution pipeline.",
    access: "owner",
    params: z.object({ command: z.string().min(1).max(10_000), questId: Id.optional() }),
    result: z.object({ output: z.string(), receiptId: Id.nullable() }),
  }),
};
