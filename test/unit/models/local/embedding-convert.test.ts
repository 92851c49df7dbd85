import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { convertBert } from "../../../../agent-server/models/local/embedding-convert.ts";
import { halfToNumber, quantize } from "../../../../agent-server/models/local/embedding-gguf.ts";
import { writeTinyBert } from "../../../support/models/tiny-bert.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-bert-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const signal = new AbortController().signal;
describe("the embedding model made ready", () => {
  it("is the same file each time, with vocabulary and weights", async () => {
    writeTinyBert(folder);
    const output = join(folder, "a.gguf");
    const first = await convertBert(folder, output, "tiny", signal);
    const bytes = readFileSync(output);
    expect(first.bytes).toBe(bytes.length);
    expect(bytes.subarray(0, 4).toString()).toBe("GGUF");
    expect(bytes.includes("\u2581hello")).toBe(true);
    expect(bytes.includes("bert.pooling_type")).toBe(true);
    expect(await convertBert(folder, output, "tiny", signal)).toEqual(first);
    // Every value is a half: as Q8_0 the scale 0.5/127 and 127s.
    expect([...bytes.subarray(-34 * 4)].includes(127) || bytes.includes(127)).toBe(true);
  });

  it.each([
    ["a tensor is missing", () => writeTinyBert(folder, { without: "embeddings.LayerNorm.bias" }), /lack embeddings\.LayerNorm\.bias/],
    [
      "the weights are cut off",
      () => {
        writeTinyBert(folder);
        const file = join(folder, "model.fp16.safetensors");
        writeFileSync(file, readFileSync(file).subarray(0, -100));
      },
      /end too early/,
    ],
    [
      "the weights are something else",
      () => {
        writeTinyBert(folder);
        writeFileSync(join(folder, "model.fp16.safetensors"), Buffer.alloc(64, 0xff));
      },
      /do not begin with a header/,
    ],
  ])("fails where %s", async (_, write, message) => {
    write();
    await expect(convertBert(folder, join(folder, "a.gguf"), "tiny", signal)).rejects.toThrow(message);
  });

  it("stops on request", async () => {
    writeTinyBert(folder);
    await expect(convertBert(folder, join(folder, "a.gguf"), "tiny", AbortSignal.abort())).rejects.toThrow();
  });
});

describe("numbers in few bits", () => {
  it.each([
    [0x0000, 0],
    [0x3c00, 1],
    [0xbc00, -1],
    [0x3800, 0.5],
    [0x7bff, 65_504],
    [0x0001, 2 ** -24],
    [0x7c00, Number.POSITIVE_INFINITY],
  ])("half %i is %f", (bits, value) => {
    expect(halfToNumber(bits)).toBe(value);
  });

  it("are off by a step of their block at most", () => {
    fc.assert(
      fc.property(fc.array(fc.float({ min: -8, max: 8, noNaN: true }), { minLength: 32, maxLength: 32 }), (values) => {
        const bytes = new DataView(quantize(Float32Array.from(values)).buffer);
        const scale = halfToNumber(bytes.getUint16(0, true));
        const largest = Math.max(...values.map(Math.abs));
        // The scale is a half: of tiny ones it is off by half of the smallest step there is, for each of the 127.
        const bound = largest / 127 + 127 * 2 ** -25;
        for (const [index, value] of values.entries())
          expect(Math.abs(bytes.getInt8(2 + index) * scale - value)).toBeLessThanOrEqual(bound);
      }),
      // What a random run found: a block of tiny values.
      { examples: [[Array.from({ length: 32 }, (_, index) => (index === 0 ? 1.2e-5 : 0))]] },
    );
  });

  it("come in blocks of 32", () => {
    expect(() => quantize(new Float32Array(31))).toThrow(RangeError);
  });
});
