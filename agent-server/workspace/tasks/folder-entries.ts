import { type BigIntStats, type Dirent, lstatSync, readdirSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { diskPath, fromBytes } from "../byte-path.ts";

/** A name in a folder. Sockets, pipes and devices count as files. Paths are text of any bytes (byte-path.ts). */
export interface FolderEntry {
  /** Relative to the workspace with forward slashes; `../…` outside it. */
  readonly path: string;
  /** Absolute. */
  readonly place: string;
  readonly kind: "folder" | "link" | "file";
  /** False when no command line or engine can name it: not UTF-8, or too long. */
  readonly named: boolean;
}

/** Sandboxes add a prefix to a path, and the system's limit is 4096 bytes. */
const maxPath = 3_000;

/** @throws the system's error when the folder cannot be read */
export function readEntries(folder: FolderEntry): FolderEntry[] {
  const entry = (name: string, found: Dirent | Dirent<Buffer>): FolderEntry => {
    const place = folder.place + sep + name;
    return {
      path: folder.path === "" ? name : `${folder.path}/${name}`,
      place,
      kind: found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "file",
      named: !place.includes("\0") && place.length <= maxPath,
    };
  };
  const at = diskPath(folder.place);
  const found = readdirSync(at, { withFileTypes: true });
  // Reading bytes is slower, and only such names need it.
  if (!found.some(({ name }) => name.includes("\ufffd"))) return found.map((one) => entry(one.name, one));
  return readdirSync(at, { withFileTypes: true, encoding: "buffer" }).map((one) => entry(fromBytes(one.name), one));
}

/** The files in a folder, with what they are now. @throws the system's error when the folder cannot be read */
export function filesIn(folder: FolderEntry): [FolderEntry, BigIntStats | null][] {
  return readEntries(folder)
    .filter(({ kind }) => kind === "file")
    .map((entry) => [entry, statOf(entry)]);
}

/** What a symbolic link leads to; null when it leads nowhere. */
export function targetOf(link: FolderEntry): { place: string; stats: BigIntStats } | null {
  try {
    // Node's own resolution reads links as text.
    const place = realpathSync.native(diskPath(link.place), { encoding: "buffer" });
    return { place: fromBytes(place), stats: lstatSync(place, { bigint: true }) };
  } catch {
    return null;
  }
}

/** What an entry is now; null when it does not exist. */
export function statOf({ place }: FolderEntry): BigIntStats | null {
  return lstatSync(diskPath(place), { bigint: true, throwIfNoEntry: false }) ?? null;
}

/** Lets other work run now and then. */
export type Rest = () => Promise<void> | undefined;

/** Inode numbers of all files in a folder. @throws the system's error when the folder cannot be read */
export async function readInodes(folder: FolderEntry, rest: Rest): Promise<Float64Array> {
  const inodes: number[] = [];
  for (const { place, kind } of readEntries(folder)) {
    if (kind !== "file") continue;
    const turn = rest();
    if (turn !== undefined) await turn;
    inodes.push(lstatSync(diskPath(place), { throwIfNoEntry: false })?.ino ?? 0);
  }
  return Float64Array.from(inodes);
}
