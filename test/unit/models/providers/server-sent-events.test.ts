import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readServerSentEvents } from "../../../../agent-server/models/providers/server-sent-events.ts";
import { AnswerTooLargeError } from "../../../../agent-server/models/providers/stream-errors.ts";

async function read(pieces: readonly Uint8Array[]): Promise<{ name: string; data: string }[]> {
  const events = [];
  for await (const { name, data } of readServerSentEvents(asStream(pieces))) events.push({ name, data });
  return events;
}

async function* asStream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

const bytes = (text: string): Uint8Array[] => [new TextEncoder().encode(text)];

function cut(whole: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (let index = 0; start < whole.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    pieces.push(whole.subarray(start, start + size));
    start += size;
  }
  return pieces;
}

describe("server-sent events", () => {
  it.each<[string, string, { name: string; data: string }[]]>([
    ["one", "data: a\n\n", [{ name: "", data: "a" }]],
    ["a name", "event: x\ndata: a\n\n", [{ name: "x", data: "a" }]],
    ["a name after the data", "data: a\nevent: x\n\n", [{ name: "x", data: "a" }]],
    ["no blank after the colon", "data:a\n\n", [{ name: "", data: "a" }]],
    ["one blank alone belongs to the form", "data:  a\n\n", [{ name: "", data: " a" }]],
    ["data over lines", "data: a\ndata: b\ndata:\n\n", [{ name: "", data: "a\nb\n" }]],
    ["a field without a colon", "data\n\n", [{ name: "", data: "" }]],
    ["comments", ": ping\n\n:\ndata: a\n: more\n\n", [{ name: "", data: "a" }]],
    ["a name without data is no event and is forgotten", "event: ping\n\ndata: a\n\n", [{ name: "", data: "a" }]],
    ["fields of reconnecting and unknown ones", "id: 1\nretry: 5\nlater: x\ndata: a\n\n", [{ name: "", data: "a" }]],
    [
      "CRLF",
      "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n",
      [
        { name: "x", data: "a" },
        { name: "", data: "b" },
      ],
    ],
    [
      "CR",
      "data: a\r\rdata: b\r\r",
      [
        { name: "", data: "a" },
        { name: "", data: "b" },
      ],
    ],
    ["a byte order mark", "\uFEFFdata: a\n\n", [{ name: "", data: "a" }]],
    [
      "an end without its empty line",
      "data: a\n\ndata: b\n",
      [
        { name: "", data: "a" },
        { name: "", data: "b" },
      ],
    ],
    [
      "an end in the middle of a line",
      "data: a\n\ndata: b",
      [
        { name: "", data: "a" },
        { name: "", data: "b" },
      ],
    ],
    ["empty lines in plenty", "\n\n\ndata: a\n\n\n\n", [{ name: "", data: "a" }]],
    ["nothing", "", []],
  ])("%s", async (_, text, expected) => {
    expect(await read(bytes(text))).toEqual(expected);
    // Byte by byte it is the same.
    expect(await read(cut(new TextEncoder().encode(text), [1]))).toEqual(expected);
  });

  it("are the same however the bytes were cut and whatever ends the lines", async () => {
    const line = fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\uFEFF]/g, ""));
    const event = fc.record({ name: line.map((text) => text.trim()), data: fc.array(line, { minLength: 1, maxLength: 3 }) });
    const sizes = fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 6 }), fc.constantFrom("\n", "\r\n", "\r"), sizes, async (events, end, cuts) => {
        const text = events
          .map(({ name, data }) => [`event: ${name}`, ...data.map((part) => `data: ${part}`), ": a comment", "", ""].join(end))
          .join("");
        const found = await read(cut(new TextEncoder().encode(text), cuts));
        expect(found).toEqual(events.map(({ name, data }) => ({ name, data: data.join("\n") })));
      }),
    );
  });

  it("may hold megabytes in one line", async () => {
    const long = "x".repeat(4_000_000);
    const found = await read(cut(new TextEncoder().encode(`data: ${long}\n\n`), [16_384]));
    expect(found[0]?.data.length).toBe(long.length);
  });

  it("are given up when one never ends", async () => {
    const piece = new TextEncoder().encode("y".repeat(1024 * 1024));
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode("data: ");
      for (;;) yield await Promise.resolve(piece);
    }
    const reading = async (): Promise<void> => {
      for await (const _ of readServerSentEvents(endless()));
    };
    await expect(reading()).rejects.toBeInstanceOf(AnswerTooLargeError);
  });
});
