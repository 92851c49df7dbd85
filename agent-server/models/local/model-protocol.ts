import * as z from "zod";

/** A turn of the conversation: text only, with tool calls already in the layout of the grammar. */
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
  /** State of the file; a change reloads it. */
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
  /** Turns that precede every conversation: an example of how to use tools. */
  example: z.array(Turn),
  turns: z.array(Turn),
  /** GBNF; null for free text. */
  grammar: z.string().nullable(),
  maxTokens: z.int(),
  temperature: z.number(),
  /** Structured data may repeat a passage; free text that does is stopped. */
  mayRepeat: z.boolean(),
});
export type Generate = z.infer<typeof Generate>;

/** Messages to the generative model's worker, besides the control messages: one `load`, then one `generate` at a time. */
export const ModelRequestMessage = z.discriminatedUnion("type", [Load, Generate]);

/** Parts omitted from the prompt to fit the context. */
export const LeftOut = z.object({ toolOutputs: z.int(), turns: z.int() });
export type LeftOut = z.infer<typeof LeftOut>;

export const Done = z.object({
  type: z.literal("done"),
  id: z.int(),
  /** `circles`: it was stopped because it repeated itself. */
  stop: z.enum(["end", "max_tokens", "aborted", "circles"]),
  inputTokens: z.int(),
  /** Input tokens that were in the KV cache. */
  cachedTokens: z.int(),
  outputTokens: z.int(),
  /** Milliseconds to the first token. */
  promptMs: z.number(),
  /** From the first token to the last. */
  generateMs: z.number(),
  leftOut: LeftOut,
  /** Bytes this process uses. */
  memoryBytes: z.int(),
});
export type Done = z.infer<typeof Done>;

export const Loaded = z.object({
  type: z.literal("loaded"),
  /** Tokens. */
  contextSize: z.int(),
  gpuLayers: z.int(),
  /** The GPU backend (`metal`) and its memory in bytes; null without one. */
  gpu: z.object({ name: z.string(), bytes: z.int() }).nullable(),
  memoryBytes: z.int(),
});
export type Loaded = z.infer<typeof Loaded>;

/** Replies to a `generate`: text, then `done`. */
export const GenerateReply = z.discriminatedUnion("type", [z.object({ type: z.literal("text"), id: z.int(), text: z.string() }), Done]);
export type GenerateReply = z.infer<typeof GenerateReply>;
