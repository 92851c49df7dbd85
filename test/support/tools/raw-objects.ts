import { createHash } from "node:crypto";
import { createWriteStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createDeflate, deflateSync } from "node:zlib";

/** Writes a loose object as it is given, whatever git would say of it. `as` is the name it claims. @returns the name it has. */
export function looseObject(gitDir: string, type: string, content: Buffer | string, as?: string, claimedSize?: number): string {
  const body = Buffer.from(content);
  const bytes = Buffer.concat([Buffer.from(`${type} ${claimedSize ?? body.length}\0`), body]);
  const hash = as ?? createHash("sha1").update(bytes).digest("hex");
  const path = join(gitDir, "objects", hash.slice(0, 2), hash.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, deflateSync(bytes));
  return hash;
}

/**
 * The same with `size` zeros as its content, which are never in memory at once: starting a program from a process that has touched half
 * a gigabyte takes ten times as long.
 */
export async function looseZeros(gitDir: string, type: string, size: number): Promise<string> {
  const block = Buffer.alloc(2 ** 20);
  function* content(): Generator<Buffer> {
    yield Buffer.from(`${type} ${size}\0`);
    for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length));
  }
  const sum = createHash("sha1");
  for (const part of content()) sum.update(part);
  const hash = sum.digest("hex");
  const path = join(gitDir, "objects", hash.slice(0, 2), hash.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  await pipeline(content(), createDeflate(), createWriteStream(path));
  return hash;
}

export interface RawEntry {
  readonly mode: string;
  readonly name: string;
  readonly hash: string;
}

/** A tree with entries in the given order. */
export function treeObject(gitDir: string, entries: readonly RawEntry[]): string {
  const parts = entries.map(({ mode, name, hash }) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(hash, "hex")]));
  return looseObject(gitDir, "tree", Buffer.concat(parts));
}

export function commitObject(gitDir: string, of: { tree: string; parents?: readonly string[]; message?: string }): string {
  const who = "The Task <task@example.invalid> 1700000000 +0000";
  const parents = (of.parents ?? []).map((parent) => `parent ${parent}\n`).join("");
  return looseObject(gitDir, "commit", `tree ${of.tree}\n${parents}author ${who}\ncommitter ${who}\n\n${of.message ?? "Raw"}\n`);
}

/** A pack with one object stored as a difference to another one, with the result size that it claims. */
export function deltaPack(path: string, baseHash: string, baseSize: number, resultSize: number): void {
  // Copies one byte of the base.
  const delta = Buffer.concat([sizeBytes(baseSize), sizeBytes(resultSize), Buffer.from([0x90, 0x01])]);
  const header = Buffer.alloc(12);
  header.write("PACK");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(1, 8);
  // Type 7: the base is named by its hash.
  const entry = Buffer.from([(7 << 4) | (delta.length & 15)]);
  const bytes = Buffer.concat([header, entry, Buffer.from(baseHash, "hex"), deflateSync(delta)]);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.concat([bytes, createHash("sha1").update(bytes).digest()]));
}

function sizeBytes(size: number): Buffer {
  const bytes: number[] = [];
  let rest = size;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
