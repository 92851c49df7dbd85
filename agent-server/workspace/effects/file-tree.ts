/** Attributes of a folder entry, as bits. */
export const flag = {
  /** A symbolic link, whose hash is that of its target. Without this bit, a file. */
  link: 1,
  /** The hash matches the entry's current facts. */
  known: 2,
  /** The content is in the object store. */
  kept: 4,
  /** The entry changed so recently before the scan that a later change may leave the same timestamps. */
  racy: 8,
} as const;

/** Numbers per entry, in one flat array: a hundred thousand objects would need some hundred megabytes. */
const width = 6;
const [size, mtime, ctime, inode, mode, flags] = [0, 1, 2, 3, 4, 5];
const hashBytes = 32;

/** Times in ms, with the precision of a double (a quarter of a microsecond). */
export interface Facts {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  /** Includes the file type bits. */
  readonly mode: number;
}

/** Files, links and special files of one folder, sorted by name, and its subfolders. */
export interface Folder {
  /** Relative to the workspace, with forward slashes and any bytes as text (`byte-path.ts`); empty for the root. */
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly names: readonly string[];
  readonly numbers: Float64Array;
  readonly hashes: Uint8Array;
  readonly folders: Map<string, Folder>;
}

/** One file, link or special file of a tree. */
export interface Entry {
  readonly folder: Folder;
  readonly at: number;
}

export function emptyFolder(path: string, permissions: number, names: readonly string[]): Folder {
  return {
    path,
    mode: permissions,
    names,
    numbers: new Float64Array(names.length * width),
    hashes: new Uint8Array(names.length * hashBytes),
    folders: new Map(),
  };
}

export function pathOf({ folder, at }: Entry): string {
  const name = folder.names[at] ?? "";
  return folder.path === "" ? name : `${folder.path}/${name}`;
}

export function flagsOf({ folder, at }: Entry): number {
  return folder.numbers[at * width + flags] ?? 0;
}

export function setFlags({ folder, at }: Entry, bits: number): void {
  folder.numbers[at * width + flags] = bits;
}

export function factsOf({ folder, at }: Entry): Facts {
  const { numbers } = folder;
  const from = at * width;
  return {
    size: numbers[from + size] ?? 0,
    mtimeMs: numbers[from + mtime] ?? 0,
    ctimeMs: numbers[from + ctime] ?? 0,
    ino: numbers[from + inode] ?? 0,
    mode: numbers[from + mode] ?? 0,
  };
}

export function setFacts({ folder, at }: Entry, facts: Facts): void {
  const { numbers } = folder;
  const from = at * width;
  numbers[from + size] = facts.size;
  numbers[from + mtime] = facts.mtimeMs;
  numbers[from + ctime] = facts.ctimeMs;
  numbers[from + inode] = facts.ino;
  numbers[from + mode] = facts.mode;
}

export function sameFacts(entry: Entry, facts: Facts): boolean {
  const { numbers } = entry.folder;
  const from = entry.at * width;
  return (
    numbers[from + ctime] === facts.ctimeMs &&
    numbers[from + size] === facts.size &&
    numbers[from + mtime] === facts.mtimeMs &&
    numbers[from + inode] === facts.ino &&
    numbers[from + mode] === facts.mode
  );
}

/** SHA-256 (hex) of an entry with the flag `known`. */
export function hashOf({ folder, at }: Entry): string {
  return Buffer.from(folder.hashes.buffer, folder.hashes.byteOffset + at * hashBytes, hashBytes).toString("hex");
}

export function setHash({ folder, at }: Entry, hash: string): void {
  folder.hashes.set(Buffer.from(hash, "hex"), at * hashBytes);
}

export function copyHash(from: Entry, to: Entry): void {
  to.folder.hashes.set(from.folder.hashes.subarray(from.at * hashBytes, (from.at + 1) * hashBytes), to.at * hashBytes);
}

/** The folder at a relative path; null when there is none. */
export function folderAt(root: Folder, path: string): Folder | null {
  if (path === "") return root;
  return path.split("/").reduce<Folder | null>((at, name) => at?.folders.get(name) ?? null, root);
}

/** Every folder of a tree, parents first. */
export function* foldersOf(root: Folder): Generator<Folder> {
  const left = [root];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    yield folder;
    left.push(...folder.folders.values());
  }
}

export function* entriesOf(root: Folder): Generator<Entry> {
  for (const folder of foldersOf(root)) for (let at = 0; at < folder.names.length; at += 1) yield { folder, at };
}
