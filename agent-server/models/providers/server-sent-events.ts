import { setImmediate as nextTurn } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { AnswerTooLargeError } from "./stream-errors.ts";

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** The event's name; empty where the server sent none. */
  name: string;
  data: string;
  /** The stream ended before the empty line that ends the event, so its data may be cut off. */
  isLast: boolean;
}

/** Bounds of a stream, whatever it contains. */
const limits = {
  /** Characters of one event. The longest real ones carry a whole answer (OpenAI's last) or an image. */
  event: 8_000_000,
  /** Bytes of the whole stream: the longest answer in events of one character each. */
  bytes: 256 * 1024 * 1024,
  events: 1_000_000,
};

/** After so many events and so long (ms), other work of the host has its turn: a server on this machine sends more than can be read at once. */
const turn = { events: 32, ms: 10 };

/**
 * Reads server-sent events from bytes, whatever their chunks. An event that the end of the stream cuts off before its empty line counts too:
 * some servers omit that line, and the parser of its data finds out whether it is complete.
 * @throws AnswerTooLargeError
 */
export async function* readServerSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let events: ServerSentEvent[] = [];
  let isTooLong = false;
  let readBytes = 0;
  let readEvents = 0;
  let isLast = false;
  let turnEvents = 0;
  let turnBegan = performance.now();
  async function letOthersRun(): Promise<void> {
    turnEvents++;
    if (turnEvents < turn.events || performance.now() - turnBegan < turn.ms) return;
    await nextTurn();
    turnEvents = 0;
    turnBegan = performance.now();
  }
  const parser = createParser({
    maxBufferSize: limits.event,
    onEvent: ({ event: name = "", data }) => events.push({ name, data, isLast }),
    onError: ({ type }) => {
      isTooLong ||= type === "max-buffer-size-exceeded";
    },
  });
  async function* take(): AsyncGenerator<ServerSentEvent> {
    const ready = events;
    events = [];
    readEvents += ready.length;
    for (const event of ready) {
      yield event;
      await letOthersRun();
    }
    if (isTooLong) throw new AnswerTooLargeError("event", limits.event);
    if (readEvents > limits.events || readBytes > limits.bytes) throw new AnswerTooLargeError("stream", limits.bytes);
  }
  for await (const chunk of bytes) {
    readBytes += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    await letOthersRun();
    if (events.length > 0 || isTooLong || readBytes > limits.bytes) yield* take();
  }
  isLast = true;
  parser.feed(`${decoder.decode()}\n\n`);
  yield* take();
}
