import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFrames, FrameError } from "../../../agent-server/sandbox/container/stream-frames.ts";

const frame = (stream: number, bytes: Uint8Array) => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
};

describe("the engine's stream", () => {
  it("is split into two streams in order, at any chunk boundary", () => {
    const part = fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }),
        (parts, cuts) => {
          const all = Buffer.concat(parts.map(([stream, bytes]) => frame(stream, bytes)));
          const got = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
          const take = createFrames((name, bytes) => got[name].push(Buffer.from(bytes)));
          for (let at = 0, turn = 0; at < all.length; turn += 1) {
            const size = cuts[turn % cuts.length] ?? 1;
            take(all.subarray(at, at + size));
            at += size;
          }
          for (const [name, number] of [
            ["stdout", 1],
            ["stderr", 2],
          ] as const)
            expect(Buffer.concat(got[name])).toEqual(
              Buffer.concat(parts.filter(([stream]) => stream === number).map(([, bytes]) => bytes)),
            );
        },
      ),
    );
  });

  it("does not buffer long frames", () => {
    let longest = 0;
    const take = createFrames((_name, bytes) => (longest = Math.max(longest, bytes.length)));
    take(frame(1, new Uint8Array(100)).subarray(0, 8));
    for (let at = 0; at < 100; at += 10) take(new Uint8Array(10));
    expect(longest).toBe(10);
  });

  it.each([
    ["text", Buffer.from("HTTP/1.1 500 No")],
    ["a stream there is not", frame(3, new Uint8Array(1))],
    ["no zeros", Buffer.from([1, 0, 0, 9, 0, 0, 0, 1, 65])],
  ])("is refused when it is %s", (_name, bytes) => expect(() => createFrames(() => {})(bytes)).toThrow(FrameError));
});
