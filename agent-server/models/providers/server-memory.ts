import { statusOf, wordsOf } from "./error-mapping.ts";
import type { Connection, RecordEffect, ServerMemory } from "./types.ts";

export function createServerMemory(record: RecordEffect = (_what, _inputs, work) => work()): ServerMemory {
  return { refused: new Set(), caches: new Map(), record };
}

/** A part of a request that not every server or model supports. */
interface OptionalPart {
  /** Matches the error text of a rejection. */
  says: RegExp;
  /** It depends on the conversation instead of the server: another request may contain it again. */
  onlyHere?: boolean;
}

/** Whether a part may be sent. The caller sends it if so. */
export type MaySend = (part: string) => boolean;

const refusals = new Set([400, 403, 404, 405, 422, 501]);
const aboutOther = /context.?(length|window|size)|too long|too many tokens|api.?key|credit|billing|quota/i;

/**
 * Sends a request. When the server rejects an optional part, sends it again without that part and remembers it if that worked. Parts are
 * dropped in their order, at most one per attempt.
 * @throws the error of the last attempt
 */
export async function withoutRefused<T>(
  connection: Connection,
  model: string,
  parts: Readonly<Record<string, OptionalPart>>,
  send: (may: MaySend) => Promise<T>,
): Promise<T> {
  const known = connection.memory?.refused ?? new Set<string>();
  const keyOf = (part: string): string => `${connection.baseUrl} ${model} ${part}`;
  const dropped = new Set<string>();
  for (;;) {
    const sent = new Set<string>();
    const may: MaySend = (part) => {
      if (dropped.has(part) || known.has(keyOf(part))) return false;
      sent.add(part);
      return true;
    };
    try {
      const result = await send(may);
      for (const part of dropped) if (parts[part]?.onlyHere !== true) known.add(keyOf(part));
      return result;
    } catch (cause) {
      const part = refusedPart(cause, sent, parts);
      if (part === undefined) throw cause;
      dropped.add(part);
    }
  }
}

function refusedPart(cause: unknown, sent: ReadonlySet<string>, parts: Readonly<Record<string, OptionalPart>>): string | undefined {
  const status = statusOf(cause);
  if (status === undefined || !refusals.has(status)) return undefined;
  const words = `${status} ${wordsOf(cause)}`;
  if (aboutOther.test(words)) return undefined;
  return Object.keys(parts).find((part) => sent.has(part) && parts[part]?.says.test(words) === true);
}
