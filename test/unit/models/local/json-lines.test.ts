import { PassThrough } from "node:stream";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readMessages, writeMessage } from "../../../../agent-server/models/local/json-lines.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

it("brings messages over whole, however the pipe cuts them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.integer({ min: 1, max: 9 }), async (messages, size) => {
      const written = new PassThrough();
      for (const message of messages) writeMessage(written, message);
      const bytes = Buffer.concat(written.readableLength > 0 ? [written.read() as Buffer] : []);
      const pipe = new PassThrough();
      const read: unknown[] = [];
      readMessages(
        pipe,
        (message) => read.push(message),
        () => expect.unreachable(),
      );
      for (let at = 0; at < bytes.length; at += size) pipe.write(bytes.subarray(at, at + size));
      pipe.end();
      await settle();
      await settle();
      expect(JSON.stringify(read)).toBe(JSON.stringify(messages));
    }),
  );
});

it("reports garbage once, and hears nothing after it", async () => {
  const pipe = new PassThrough();
  const seen: unknown[] = [];
  readMessages(
    pipe,
    (message) => seen.push(message),
    () => seen.push("garbage"),
  );
  pipe.write('{"a":1}\nllama: no\n{"b":2}\n');
  pipe.write('more\n{"c":3}\n');
  await settle();
  expect(seen).toEqual([{ a: 1 }, "garbage"]);
});

it("loses what is written to a pipe that has closed", () => {
  const pipe = new PassThrough();
  pipe.destroy();
  expect(() => writeMessage(pipe, { a: 1 })).not.toThrow();
});
