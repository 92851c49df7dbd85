import { createParser } from "eventsource-parser";

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** The event's name; empty where the server sent none. */
  name: string;
  data: string;
}

/** Characters of one event. The longest real ones carry a whole answer (OpenAI's last) or an image. */
const maxEventLength = 64 * 1024 * 1024;

/** A stream with an event that exceeds the limit. */
export class EventTooLongError extends Error {
  constructor() {
    super("an event of the stream is too long");
    this.name = "EventTooLongError";
  }
}

/**
 * Reads server-sent events from bytes, whatever their chunks. An event that the end of the stream cuts off before its empty line counts too:
 * some servers omit that line, and the parser of its data finds out whether it is complete.
 * @throws EventTooLongError
 */
export async function* readServerSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let events: ServerSentEvent[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: ({ event: name = "", data }) => events.push({ name, data }),
    onError: ({ type }) => {
      isTooLong ||= type === "max-buffer-size-exceeded";
    },
  });
  function* take(): Generator<ServerSentEvent> {
    const ready = events;
    events = [];
    yield* ready;
    if (isTooLong) throw new EventTooLongError();
  }
  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (events.length > 0 || isTooLong) yield* take();
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield* take();
}
