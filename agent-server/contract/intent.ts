import * as z from "zod";
import { method } from "./method.ts";

export const intents = ["PLAN_REQUEST", "EXEC_REQUEST", "MIXED_REQUEST", "KNOWLEDGE_REQUEST", "CONVERSATIONAL"] as const;
export const Intent = z.enum(intents);
export type Intent = z.infer<typeof Intent>;

export const IntentResult = z.object({
  intent: Intent,
  confidence: z.number().min(0).max(1),
  /** A follow-up, which means nothing without the message before it. */
  isContinuation: z.boolean(),
  requiresTools: z.boolean(),
  /** Write verbs are never low risk. */
  risk: z.enum(["low", "high"]),
  /** The method: the embedding model with its classifier, a language model, or rules. */
  method: z.enum(["embedding", "model", "rules"]),
});
export type IntentResult = z.infer<typeof IntentResult>;

export const intentMethods = {
  "intent.classify": method({
    summary: "Classifies the intent of a text on this machine. Nothing is executed.",
    access: "any",
    params: z.object({
      text: z.string().min(1).max(1_000_000),
      /** The messages before it, oldest first. */
      history: z
        .array(z.object({ role: z.enum(["user", "assistant"]), text: z.string().max(100_000) }))
        .max(50)
        .optional(),
    }),
    result: IntentResult,
  }),
};
