import * as z from "zod";

/** Version of the handshake between extension and host; increased for incompatible changes. */
export const protocolVersion = 1;

export const Tier = z.enum(["T0", "T1", "T2", "T3"]);
export type Tier = z.infer<typeof Tier>;

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime();

export const Id = z.string().min(1).max(200);

/** The way by which a call reaches the host. */
export const Transport = z.enum(["editor", "stdio", "http", "websocket", "terminal"]);
export type Transport = z.infer<typeof Transport>;

export const Ok = z.object({ ok: z.literal(true) });

/** Opaque position in a list; pass it to get the next page. */
export const Cursor = z.string().max(400);

/** A page of a list. `nextCursor` is absent on the last page. */
export function page<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), nextCursor: Cursor.optional() });
}
