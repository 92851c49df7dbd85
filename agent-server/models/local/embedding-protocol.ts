import * as z from "zod";

/** What the host tells the embedding process. One `load` first; then `embed`, answered in turn. */
export const ToEmbedding = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("load"),
    /** The module of the runtime, an absolute path. */
    runtime: z.string(),
    model: z.string(),
    threads: z.int(),
  }),
  z.object({ type: z.literal("embed"), id: z.int(), text: z.string() }),
]);
export type ToEmbedding = z.infer<typeof ToEmbedding>;

/** What the embedding process tells the host. */
export const FromEmbedding = z.discriminatedUnion("type", [
  z.object({ type: z.literal("loaded") }),
  /** The vector as the bytes of 32-bit floats in base64. */
  z.object({ type: z.literal("vector"), id: z.int(), vector: z.base64(), tokens: z.int() }),
  /** Without an id it could not be loaded. */
  z.object({ type: z.literal("failed"), id: z.int().nullable(), message: z.string() }),
]);
export type FromEmbedding = z.infer<typeof FromEmbedding>;
