import { type BigIntStats, type Dirent, lstatSync, readdirSync, realpathSync } from "node:fs";
import { sep } from "node:path";

/** A name in a folder. Sockets, pipes and devices count as files. */
export interface FolderEntry {
  /** Relative to the workspace with forward slashes; `../…` outside it. Bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** Absolute, as the system opens it: bytes when the name, or one above it, is not UTF-8. */
  readonly place: string | Buffer;
  readonly kind: "folder" | "link" | "file";
  /** False when no command line or engine can name it: not UTF-8, or too long. */
  readonly named: boolean;
}

/** Sandboxes add a prefix to a path, and the system's limit is 4096 bytes. */
const maxPath = 3_000;

/** @throws the system's error when the folder cannot be read */
export function readEntries(folder: FolderEntry): FolderEntry[] {
  const { place: at } = folder;
  const entry = (name: string, place: string | Buffer, found: Dirent | Dirent<Buffer>): FolderEntry => ({
    path: folder.path === "" ? name : `${folder.path}/${name}`,
    place,
    kind: found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "file",
    named: typeof place === "string" && place.length <= maxPath,
  });
  if (typeof at === "string") {
    const found = readdirSync(at, { withFileTypes: true });
    if (!found.some(({ name }) => name.includes("\ufffd"))) return found.map((one) => entry(one.name, at + sep + one.name, one));
  }
  return readdirSync(at, { withFileTypes: true, encoding: "buffer" }).map((one) => {
    const name = one.name.toString();
    const place =
      typeof at === "string" && Buffer.from(name).equals(one.name)
        ? at + sep + name
        : Buffer.concat([typeof at === "string" ? Buffer.from(at) : at, Buffer.from(sep), one.name]);
    return entry(name, place, one);
  });
}

/** The files in a folder, with what they are now. @throws the system's error when the folder cannot be read */
export function filesIn(folder: FolderEntry): [FolderEntry, BigIntStats | null][] {
  return readEntries(folder)
    .filter(({ kind }) => kind === "file")
    .map((entry) => [entry, lstatSync(entry.place, { bigint: true, throwIfNoEntry: false }) ?? null]);
}

/** What a symbolic link leads to; null when it leads nowhere. */
export function targetOf(link: FolderEntry): { place: string; stats: BigIntStats } | null {
  try {
    const place = realpathSync(link.place);
    return { place, stats: lstatSync(place, { bigint: true }) };
  } catch {
    return null;
  }
}
