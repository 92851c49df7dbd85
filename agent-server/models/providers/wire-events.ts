import type * as z from "zod";
import { CutStreamError, InvalidItemError } from "./stream-errors.ts";
import { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";

/** How a provider writes its streams. Both modes read them by this alone, so that an SDK never sees an item that it does not expect. */
export interface WireFormat {
  /** The fields that are read; unknown fields and unknown kinds of events pass. */
  readonly schema: z.ZodType;
  /** The failure that an event reports instead of a part of the answer. */
  readonly failure: (value: Record<string, unknown>, name: string) => Error | null;
}

/** The data of the last event of some formats. */
const end = "[DONE]";

/**
 * The items of a streamed answer. `Item` is the provider's type for what `wire.schema` has checked.
 * @throws CutStreamError, InvalidItemError, AnswerTooLargeError, and what `wire.failure` returns
 */
export async function* readWire<Item>(response: Response, wire: WireFormat): AsyncGenerator<Item> {
  if (response.body === null) throw new CutStreamError();
  for await (const event of readServerSentEvents(response.body)) {
    if (event.data === end) return;
    // A name with empty data is a keep-alive.
    if (event.data === "") continue;
    const value = parseObject(event);
    const failure = wire.failure(value, event.name);
    if (failure !== null) throw failure;
    const parsed = wire.schema.safeParse(value);
    if (!parsed.success) throw new InvalidItemError(describe(parsed.error));
    yield value as Item;
  }
}

function parseObject({ data, isLast }: ServerSentEvent): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    if (isLast) throw new CutStreamError();
    throw new InvalidItemError("an event that is no JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new InvalidItemError(
    `an event that is no JSON object but ${Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`}`,
  );
}

/** Names the field and never its content, which can be anything. */
function describe({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.map(String).join(".").slice(0, 100) ?? "";
  const expected = issue?.code === "invalid_type" ? `, which should be ${issue.expected}` : "";
  return `an event with an invalid ${path === "" ? "form" : path}${expected}`;
}
