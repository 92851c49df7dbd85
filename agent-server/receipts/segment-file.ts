import { createHash, randomBytes } from "node:crypto";
import { createReadStream, type ReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, createGzip } from "node:zlib";
import { syncFolder } from "../storage/storage.ts";
import { type EntryLine, readLine, writeLine } from "./entry-lines.ts";

/** A row of `ledger_segments`: entries that moved from the database to a file in the folder `receipts/`. */
export interface Segment {
  from_seq: number;
  to_seq: number;
  /** Hash of the entry before the first. */
  prev_hash: string;
  last_hash: string;
  first_at: number;
  last_at: number;
  file: string;
  /** Hash of the compressed file. */
  sha256: string;
  bytes: number;
  at: number;
}

export function segmentName(from: number, to: number): string {
  return `segment-${from}-${to}.jsonl.gz`;
}

export function segmentFolder(dataDir: string): string {
  return join(dataDir, "receipts");
}

/**
 * Yields the entries of a sealed file in order, in chunks; null for a line that cannot be parsed. Returns the file's hash and size.
 * @throws a system error when the file is missing, a zlib error when it is damaged
 */
export async function* readSegment(file: string): AsyncGenerator<(EntryLine | null)[], { sha256: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  const source: ReadStream = createReadStream(file);
  source.on("data", (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  const text = new StringDecoder("utf8");
  let rest = "";
  try {
    for await (const chunk of source.pipe(withSourceErrors(source, createGunzip()))) {
      const lines = (rest + text.write(chunk as Buffer)).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines.map(readLine);
    }
  } finally {
    source.destroy();
  }
  if (rest !== "") yield [null];
  return { sha256: hash.digest("hex"), bytes };
}

/** Destroys `target` when the source fails; `pipe` alone would leave the reader waiting. */
function withSourceErrors<T extends NodeJS.WritableStream & { destroy(error: Error): unknown }>(source: ReadStream, target: T): T {
  source.on("error", (error) => target.destroy(error));
  return target;
}

/**
 * Writes a sealed file under a temporary name, syncs it and renames it, so that a file with the final name is always complete.
 * Pulls `entries` in chunks, with backpressure.
 */
export async function writeSegment(file: string, entries: AsyncIterable<readonly EntryLine[]>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      const lines = async function* (): AsyncGenerator<string> {
        for await (const some of entries) yield `${some.map(writeLine).join("\n")}\n`;
      };
      await pipeline(lines, createGzip({ level: 6 }), async (packed: AsyncIterable<Buffer>) => {
        for await (const some of packed) await handle.writeFile(some);
      });
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    await syncFolder(dirname(file));
  } catch (error) {
    // If this fails too, the original error is still the one to report.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
