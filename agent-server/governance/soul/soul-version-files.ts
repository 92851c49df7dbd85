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

/** A value, or the problem that prevented reading it. */
export type ReadResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** The soul folder: `ACTIVE` with the active version, such as `v2`, and `soul_versions/soul_v2.yaml`. */
export interface VersionFiles {
  /** Changes with every write of `ACTIVE`; undefined when it is missing. Cheap. */
  readonly pointerStat: () => Stats | undefined;
  readonly readPointer: () => ReadResult<string>;
  readonly readVersion: (version: string) => ReadResult<string>;
  readonly versionStat: (version: string) => Stats | undefined;
  /** Removes orphaned temporary files of hosts that died. */
  readonly removeOrphans: () => void;
  /** Sorted by number. */
  readonly list: () => string[];
  /** Writes a new version; false when its file exists, which is left unchanged. */
  readonly addVersion: (version: string, yaml: string) => boolean;
  /** Removes a version that was never active. */
  readonly removeVersion: (version: string) => void;
  /** Moves the pointer atomically. */
  readonly point: (version: string) => void;
}

/** Age in milliseconds at which a temporary file counts as orphaned; writing one takes far less. */
const orphanAge = 60_000;

export function versionNumber(version: string): number {
  return Number(version.slice(1));
}

/** @param root `soul/` of the data folder, or the shipped one */
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
    removeOrphans() {
      for (const place of [root, folder]) {
        for (const name of namesIn(place)) {
          if (!/^\.[0-9a-f-]{36}\.tmp$/.test(name)) continue;
          const orphan = statOf(join(place, name));
          if (orphan !== undefined && Date.now() - orphan.mtimeMs > orphanAge) rmSync(join(place, name), { force: true });
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
      const written = writeTemporary(folder, yaml);
      try {
        // Unlike a rename, a link fails when the name exists.
        linkSync(written, fileOf(version));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "EEXIST") return false;
        // On a file system without links the write is still exclusive. A crash may leave a partial file, which its hash reveals.
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
      const written = writeTemporary(root, `${version}\n`);
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

/** Does not follow links; undefined when the file is missing or unreachable. */
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

/** Reads a regular file without following links. */
function readPlain(path: string, name: string, maxBytes: number): ReadResult<Buffer> {
  let file: number;
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return { ok: false, problem: `${name} is a symbolic link. Replace it with the file itself.` };
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

/** Writes a temporary file with an unguessable name in the target folder. */
function writeTemporary(folder: string, text: string): string {
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

/** Makes the new name survive a power loss. Not every system supports this, and nothing else depends on it. */
function syncFolder(folder: string): void {
  try {
    const file = openSync(folder, constants.O_RDONLY);
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Windows cannot open folders.
  }
}
