import * as z from "zod";

const Load = z.object({
  type: z.literal("load"),
  /** The module of the runtime, an absolute path. */
  runtime: z.string(),
  model: z.string(),
  threads: z.int(),
});
export type EmbeddingLoad = z.infer<typeof Load>;
const Embed = z.object({ type: z.literal("embed"), id: z.int(), text: z.string() });
export type Embed = z.infer<typeof Embed>;

/** Messages to the embedding model's worker, besides the control messages: one `load`, then one `embed` at a time. */
export const EmbeddingRequestMessage = z.discriminatedUnion("type", [Load, Embed]);

export const EmbeddingLoaded = z.object({ type: z.literal("loaded") });
export type EmbeddingLoaded = z.infer<typeof EmbeddingLoaded>;
/** The vector as the bytes of 32-bit floats in base64. */
export const EmbeddingReply = z.object({ type: z.literal("vector"), id: z.int(), vector: z.base64(), tokens: z.int() });
export type EmbeddingReply = z.infer<typeof EmbeddingReply>;
