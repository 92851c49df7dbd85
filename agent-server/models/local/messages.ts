import * as z from "zod";
import { errorCodes } from "../../contract/errors.ts";

/** A turn as the model process is told it: text only, calls already in the layout of the grammar. */
export const Turn = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), text: z.string() }),
  z.object({ role: z.literal("assistant"), text: z.string() }),
  z.object({ role: z.literal("tool"), results: z.array(z.object({ name: z.string(), text: z.string(), isError: z.boolean() })) }),
]);
export type Turn = z.infer<typeof Turn>;

export const Load = z.object({
  type: z.literal("load"),
  /** The module of the runtime, an absolute path. */
  runtime: z.string(),
  model: z.string(),
  /** Tokens. */
  contextSize: z.int(),
  threads: z.int(),
  gpu: z.boolean(),
  /** Layers on the GPU; null leaves it to the runtime. */
  gpuLayers: z.int().nullable(),
});
export type Load = z.infer<typeof Load>;

export const Generate = z.object({
  type: z.literal("generate"),
  id: z.int(),
  system: z.string(),
  /** Turns that are always there: an example of how to use tools. */
  example: z.array(Turn),
  turns: z.array(Turn),
  /** GBNF; null for free text. */
  grammar: z.string().nullable(),
  maxTokens: z.int(),
  temperature: z.number(),
});
export type Generate = z.infer<typeof Generate>;

/** What the host tells the model process. One `load` first; then one `generate` at a time. */
export const ToModel = z.discriminatedUnion("type", [Load, Generate, z.object({ type: z.literal("abort"), id: z.int() })]);
export type ToModel = z.infer<typeof ToModel>;

/** What had to be left out of the prompt for the context to hold it. */
export const LeftOut = z.object({ toolOutputs: z.int(), turns: z.int() });
export type LeftOut = z.infer<typeof LeftOut>;

export const Done = z.object({
  type: z.literal("done"),
  id: z.int(),
  /** `circles`: it repeated itself and was stopped. */
  stop: z.enum(["end", "max_tokens", "aborted", "circles"]),
  inputTokens: z.int(),
  /** Of the input, those that were in the model's memory already. */
  cachedTokens: z.int(),
  outputTokens: z.int(),
  promptMs: z.number(),
  leftOut: LeftOut,
});
export type Done = z.infer<typeof Done>;

/** What the model process tells the host. */
export const FromModel = z.discriminatedUnion("type", [
  z.object({ type: z.literal("loaded"), contextSize: z.int() }),
  z.object({ type: z.literal("text"), id: z.int(), text: z.string() }),
  Done,
  /** Without an id the model could not be loaded. */
  z.object({
    type: z.literal("failed"),
    id: z.int().nullable(),
    code: z.enum(errorCodes),
    message: z.string(),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
]);
export type FromModel = z.infer<typeof FromModel>;
