import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { CodeSource } from "./decision-facts.ts";

/** The code that an action would run, as hashes. Two equal fingerprints stand for the same code. */
export interface CodeFingerprint {
  /** SHA-256 (hex) of the names and contents of exactly the code that runs. */
  readonly exact: string;
  /** One entry per existing file with its name and hash; of a package.json, the hash covers all of its scripts. */
  readonly files: readonly string[];
}

const maxFileBytes = 4 * 1024 * 1024;
const maxTotalBytes = 16 * 1024 * 1024;

/** The fingerprint of an action that runs no code of the workspace. */
export const noCode: CodeFingerprint = fingerprintOf([]);

/**
 * Reads the code of a command and hashes it. Missing files are part of the result, because they may be created.
 * @returns null when a source cannot be read, is no regular file, or is too large
 */
export function fingerprintCode(sources: readonly CodeSource[], canRead: (absolute: string) => boolean): CodeFingerprint | null {
  const entries: Entry[] = [];
  let left = maxTotalBytes;
  for (const source of sources) {
    if (!canRead(source.absolute)) return null;
    if (source.kind === "script") {
      const all = sha256(JSON.stringify([...source.scripts].sort(([one], [other]) => (one < other ? -1 : 1))));
      entries.push({ name: `${source.absolute}\0${source.name}`, hash: textHash(source.text), file: `${source.absolute}\0scripts ${all}` });
      continue;
    }
    const bytes = readCode(source.absolute, Math.min(maxFileBytes, left));
    if (bytes === "unreadable") return null;
    left -= bytes?.length ?? 0;
    const hash = textHash(bytes);
    entries.push({ name: source.absolute, hash, file: bytes === null ? null : `${source.absolute}\0${hash}` });
  }
  return fingerprintOf(entries);
}

interface Entry {
  readonly name: string;
  readonly hash: string;
  /** Null for a missing file. */
  readonly file: string | null;
}

function fingerprintOf(entries: readonly Entry[]): CodeFingerprint {
  const sorted = entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return {
    exact: sha256(JSON.stringify(sorted.map(({ name, hash }) => [name, hash]))),
    // Hashed, so that a stored rule contains no paths, which may be private.
    files: [...new Set(sorted.flatMap(({ file }) => (file === null ? [] : [sha256(file)])))],
  };
}

/** The bytes of a regular file; null for a missing one. */
function readCode(path: string, limit: number): Buffer | null | "unreadable" {
  let descriptor: number;
  try {
    // Opening a fifo must not wait for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    return code === "ENOENT" || code === "ENOTDIR" ? null : "unreadable";
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > limit) return "unreadable";
    const buffer = Buffer.alloc(stats.size + 1);
    let length = 0;
    while (length < buffer.length) {
      const count = readSync(descriptor, buffer, length, buffer.length - length, length);
      if (count === 0) return buffer.subarray(0, length);
      length += count;
    }
    // It grew while it was read.
    return "unreadable";
  } catch {
    return "unreadable";
  } finally {
    closeSync(descriptor);
  }
}

function textHash(text: string | Buffer | null): string {
  return text === null ? "missing" : sha256(text);
}

function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}
