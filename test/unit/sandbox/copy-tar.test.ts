import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBytes } from "../../../agent-server/workspace/byte-path.ts";
import { readTar, TarError } from "../../../agent-server/sandbox/copy/tar-reader.ts";
import { type TarEntry, tarEnd, tarHeader, tarPadding } from "../../../agent-server/sandbox/copy/tar-writer.ts";

const owner = { mode: 0o644, mtime: 1_700_000_000, uid: 1000, gid: 1000 };

function pack(entries: readonly (TarEntry & { content?: Buffer })[]): Buffer {
  const parts = entries.flatMap(({ content, ...entry }) => [
    tarHeader(entry),
    ...(content === undefined ? [] : [content, tarPadding(content.length)]),
  ]);
  return Buffer.concat([...parts, tarEnd]);
}

/** Reads an archive that arrives in pieces of some bytes. */
async function read(archive: Buffer, piece = 1_000) {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < archive.length; at += piece) yield await Promise.resolve(archive.subarray(at, at + piece));
  }
  const found: { path: string; kind: string; size: number; target: string; content: string }[] = [];
  for await (const { path, kind, size, target, content } of readTar(pieces())) {
    const parts: Buffer[] = [];
    for await (const part of content()) parts.push(Buffer.from(part));
    found.push({ path, kind, size, target, content: Buffer.concat(parts).toString("latin1") });
  }
  return found;
}

/** A path of any bytes that a file system takes. */
const name = fc
  .uint8Array({ minLength: 1, maxLength: 60 })
  .map((bytes) => fromBytes(Buffer.from(bytes.map((byte) => (byte === 0 || byte === 47 ? 120 : byte)))));
const path = fc.array(name, { minLength: 1, maxLength: 12 }).map((names) => names.join("/"));

describe("archives of copies", () => {
  it("keep names of any bytes and length, links and content, in whatever pieces they arrive", async () => {
    const entry = fc.record({
      path,
      content: fc.uint8Array({ maxLength: 1_500 }),
      target: path,
      kind: fc.constantFrom("file", "link", "folder"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), fc.integer({ min: 1, max: 2_000 }), async (entries, piece) => {
        const archive = pack(
          entries.map((of) => {
            const { kind } = of;
            const content = Buffer.from(of.content);
            return kind === "file"
              ? { ...owner, kind, path: of.path, size: content.length, content }
              : { ...owner, kind, path: of.path, size: 0, ...(kind === "link" ? { target: of.target } : {}) };
          }),
        );
        expect(await read(archive, piece)).toEqual(
          entries.map((of) => ({
            path: of.kind === "folder" ? `${of.path}/` : of.path,
            kind: of.kind,
            size: of.kind === "file" ? of.content.length : 0,
            target: of.kind === "link" ? of.target : "",
            content: of.kind === "file" ? Buffer.from(of.content).toString("latin1") : "",
          })),
        );
      }),
      { numRuns: 60 },
    );
  });

  it("are read one after the other, also where their content was not asked for", async () => {
    const one = pack([{ ...owner, kind: "file", path: "./a", size: 3, content: Buffer.from("abc") }]);
    const two = pack([{ ...owner, kind: "file", path: "./b", size: 0, content: Buffer.alloc(0) }]);
    const paths: string[] = [];
    for await (const item of readTar(
      (async function* () {
        yield await Promise.resolve(Buffer.concat([one, two]));
      })(),
    ))
      paths.push(item.path);
    expect(paths).toEqual(["./a", "./b"]);
  });

  it("of sizes beyond eight gigabytes are announced and read", () => {
    const header = tarHeader({ ...owner, kind: "file", path: "large", size: 2 ** 40 });
    expect(header[124]).toBe(0x80);
    expect(header.readBigUInt64BE(128)).toBe(2n ** 40n);
  });

  const entry = { ...owner, kind: "file" as const, path: "./a", size: 3, content: Buffer.from("abc") };
  it.each<[string, (archive: Buffer) => Buffer]>([
    ["cut off in a header", (archive) => archive.subarray(0, 300)],
    ["cut off in the content", (archive) => archive.subarray(0, 514)],
    ["with a changed header", (archive) => Buffer.concat([Buffer.from("x"), archive.subarray(1)])],
    ["of another form", () => Buffer.alloc(2_048, "x")],
    ["with a name without end", () => pack([{ ...entry, path: "x".repeat(100_000) }])],
  ])("%s are refused", async (_name, change) => {
    await expect(read(change(pack([entry])))).rejects.toBeInstanceOf(TarError);
  });
});
