/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** The event's name; empty where the server gave none. */
  name: string;
  data: string;
}

/** Characters of one event. The longest real ones carry a whole answer (OpenAI's last) or an image. */
const maxEventLength = 64 * 1024 * 1024;

/** A stream that holds an event longer than anyone sends. */
export class EventTooLongError extends Error {
  constructor() {
    super("an event of the stream is too long");
    this.name = "EventTooLongError";
  }
}

/**
 * Reads server-sent events from bytes however they were cut: UTF-8 split between pieces, any of the three line ends, a byte
 * order mark, comments, data over several lines. An event that the end of the stream cuts off before its empty line is given
 * all the same: some servers leave that line out, and whoever parses it finds out whether it is whole.
 * @throws EventTooLongError
 */
export async function* readServerSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  const lines = createLineReader();
  const events = createEventReader();
  for await (const piece of bytes) {
    for (const line of lines.read(decoder.decode(piece, { stream: true }))) {
      const event = events.read(line);
      if (event !== null) yield event;
    }
    if (lines.pendingLength() + events.pendingLength() > maxEventLength) throw new EventTooLongError();
  }
  for (const line of [...lines.read(decoder.decode()), lines.rest(), ""]) {
    const event = events.read(line);
    if (event !== null) yield event;
  }
}

/** Lines ended by LF, CR or CRLF; only new text is looked through, so that a long line costs no more than its length. */
function createLineReader() {
  let parts: string[] = [];
  let length = 0;
  let afterReturn = false;
  return {
    read(text: string): string[] {
      // The line feed of a CRLF that was cut in two ends no second line.
      let start = afterReturn && text.startsWith("\n") ? 1 : 0;
      if (text !== "") afterReturn = false;
      const lines: string[] = [];
      const ends = /\r\n|\n|\r/g;
      ends.lastIndex = start;
      for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
        lines.push(parts.join("") + text.slice(start, end.index));
        parts = [];
        length = 0;
        start = ends.lastIndex;
        if (end[0] === "\r" && start === text.length) afterReturn = true;
      }
      if (start < text.length) {
        parts.push(text.slice(start));
        length += text.length - start;
      }
      return lines;
    },
    rest(): string {
      const rest = parts.join("");
      parts = [];
      length = 0;
      return rest;
    },
    pendingLength: () => length,
  };
}

function createEventReader() {
  let name = "";
  let data: string[] = [];
  let length = 0;
  return {
    read(line: string): ServerSentEvent | null {
      if (line === "") {
        const event = data.length === 0 ? null : { name, data: data.join("\n") };
        name = "";
        data = [];
        length = 0;
        return event;
      }
      const colon = line.indexOf(":");
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (field === "event") name = value;
      // A comment has an empty field; `id` and `retry` serve reconnecting, which an answer never does.
      else if (field === "data") {
        data.push(value);
        length += value.length;
      }
      return null;
    },
    pendingLength: () => length,
  };
}
