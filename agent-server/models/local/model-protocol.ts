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
  /** State of the file: another one is loaded anew. */
  stamp: z.string(),
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
  /** Data may hold the same passage many times; words that do are stopped. */
  mayRepeat: z.boolean(),
});
export type Generate = z.infer<typeof Generate>;

/** What the host tells the model process. One `load` first; then one `generate` at a time. A `ping` wants its `pong` at once. */
export const ToModel = z.discriminatedUnion("type", [
  Load,
  Generate,
  z.object({ type: z.literal("abort"), id: z.int() }),
  z.object({ type: z.literal("ping") }),
]);
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
  /** Milliseconds to the first token. */
  promptMs: z.number(),
  /** From the first token to the last. */
  generateMs: z.number(),
  leftOut: LeftOut,
  /** Bytes this process holds. */
  memoryBytes: z.int(),
});
export type Done = z.infer<typeof Done>;

export const Loaded = z.object({
  type: z.literal("loaded"),
  /** Tokens. */
  contextSize: z.int(),
  gpuLayers: z.int(),
  /** What computes besides the processor (`metal`), and its memory in bytes; null without one. */
  gpu: z.object({ name: z.string(), bytes: z.int() }).nullable(),
  memoryBytes: z.int(),
});
export type Loaded = z.infer<typeof Loaded>;

/** What the model process tells the host. */
export const FromModel = z.discriminatedUnion("type", [
  Loaded,
  z.object({ type: z.literal("text"), id: z.int(), text: z.string() }),
  Done,
  z.object({ type: z.literal("pong") }),
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
