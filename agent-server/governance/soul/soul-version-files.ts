import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { SoulVersion } from "../../contract/soul.ts";
import { decodeSoul, maxSoulBytes } from "./soul-document.ts";

/** A text, or the sentence that says why there is none. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** The folder of a soul: `ACTIVE`, which holds `v2`, and `soul_versions/soul_v2.yaml`. */
export interface VersionFiles {
  /** Changes whenever `ACTIVE` is written; null when it is missing. Cheap. */
  readonly pointerStat: () => Stats | undefined;
  readonly readPointer: () => Read<string>;
  readonly readVersion: (version: string) => Read<string>;
  readonly versionStat: (version: string) => Stats | undefined;
  /** Removes what writes of hosts that died left. */
  readonly sweep: () => void;
  /** By number. */
  readonly list: () => string[];
  /** Writes a new version; false when its file is there already, which is then left as it is. */
  readonly addVersion: (version: string, yaml: string) => boolean;
  /** Takes back a version that was never in force. */
  readonly removeVersion: (version: string) => void;
  /** Moves the pointer in one step. */
  readonly point: (version: string) => void;
}

/** Milliseconds after which an unfinished file is nobody's: writing one takes a moment. */
const leftOver = 60_000;

export function versionNumber(version: string): number {
  return Number(version.slice(1));
}

/** @param root `soul/` of the data folder, or the one that ships */
export function createVersionFiles(root: string): VersionFiles {
  const folder = join(root, "soul_versions");
  const pointer = join(root, "ACTIVE");
  const fileOf = (version: string): string => join(folder, `soul_${version}.yaml`);
  const nameOf = (version: string): string => `soul_${version}.yaml`;

  return {
    pointerStat: () => statOf(pointer),
    versionStat: (version) => statOf(fileOf(version)),
    readPointer() {
      const bytes = readPlain(pointer, "soul/ACTIVE", 100);
      if (!bytes.ok) return bytes;
      const version = SoulVersion.safeParse(bytes.value.toString("latin1").trim());
      return version.success
        ? { ok: true, value: version.data }
        : { ok: false, problem: "soul/ACTIVE does not hold a version such as v1." };
    },
    readVersion(version) {
      const bytes = readPlain(fileOf(version), nameOf(version), maxSoulBytes);
      if (!bytes.ok) return bytes;
      const text = decodeSoul(bytes.value);
      return typeof text === "string" ? { ok: true, value: text } : { ok: false, problem: `${nameOf(version)}: ${text.message}` };
    },
    sweep() {
      for (const place of [root, folder]) {
        for (const name of namesIn(place)) {
          if (!/^\.[0-9a-f-]{36}\.tmp$/.test(name)) continue;
          const left = statOf(join(place, name));
          if (left !== undefined && Date.now() - left.mtimeMs > leftOver) rmSync(join(place, name), { force: true });
        }
      }
    },
    list() {
      return namesIn(folder)
        .flatMap((name) => /^soul_(v[1-9]\d{0,5})\.yaml$/.exec(name)?.[1] ?? [])
        .sort((one, other) => versionNumber(one) - versionNumber(other));
    },
    addVersion(version, yaml) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const written = writeBeside(folder, yaml);
      try {
        // A link fails where a name is taken, which a rename does not.
        linkSync(written, fileOf(version));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "EEXIST") return false;
        // A disk without links: still exclusive, though a crash may leave a part of it, which its hash then shows.
        return writeExclusive(fileOf(version), yaml);
      } finally {
        rmSync(written, { force: true });
      }
      syncFolder(folder);
      return true;
    },
    removeVersion: (version) => rmSync(fileOf(version), { force: true }),
    point(version) {
      mkdirSync(root, { recursive: true, mode: 0o700 });
      const written = writeBeside(root, `${version}\n`);
      try {
        renameSync(written, pointer);
      } catch (error) {
        rmSync(written, { force: true });
        throw error;
      }
      syncFolder(root);
    },
  };
}

/** Links are not followed; undefined for what is not there or cannot be reached. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Bytes of a plain file; links are not followed. */
function readPlain(path: string, name: string, maxBytes: number): Read<Buffer> {
  let file: number;
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return { ok: false, problem: `${name} is a link. Put the file itself there.` };
    if (!stat.isFile()) return { ok: false, problem: `${name} is not a file.` };
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return { ok: false, problem: missing ? `${name} is missing.` : `${name} cannot be read.` };
  }
  try {
    const { size } = fstatSync(file);
    if (size > maxBytes) return { ok: false, problem: `${name} is too long.` };
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      if (read === 0) break;
      length += read;
      if (length > maxBytes) return { ok: false, problem: `${name} is too long.` };
    }
    return { ok: true, value: bytes.subarray(0, length) };
  } catch {
    return { ok: false, problem: `${name} cannot be read.` };
  } finally {
    closeSync(file);
  }
}

/** A finished file of a name that cannot be guessed, to be moved to its place. */
function writeBeside(folder: string, text: string): string {
  const path = join(folder, `.${randomUUID()}.tmp`);
  writeExclusive(path, text);
  return path;
}

function writeExclusive(path: string, text: string): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  try {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return true;
}

/** So that the new name survives a power cut; not every system can do this, and nothing depends on it but that. */
function syncFolder(folder: string): void {
  try {
    const file = openSync(folder, constants.O_RDONLY);
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Windows refuses to open folders.
  }
}
