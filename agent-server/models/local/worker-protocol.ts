import * as z from "zod";
import { errorCodes } from "../../contract/errors.ts";

/** Messages to every worker, besides its own `load` and requests. An `abort` ends a request early; a `ping` requires a `pong` at once. */
export const ControlRequest = z.discriminatedUnion("type", [
  z.object({ type: z.literal("abort"), id: z.int() }),
  z.object({ type: z.literal("ping") }),
]);
export type ControlRequest = z.infer<typeof ControlRequest>;

/** Messages from every worker, besides its own `loaded` and replies. A failure without an id is one of loading. */
export const ControlReply = z.discriminatedUnion("type", [
  z.object({ type: z.literal("pong") }),
  z.object({
    type: z.literal("failed"),
    id: z.int().nullable(),
    code: z.enum(errorCodes),
    message: z.string(),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
]);
export type ControlReply = z.infer<typeof ControlReply>;

export type LoadRequest = { type: "load" };
export type LoadReply = { type: "loaded" };
export type WorkerRequest = { type: string; id: number };
export type WorkerReply = { type: string; id: number };
