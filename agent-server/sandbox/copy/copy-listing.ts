import { fromBytes } from "../../workspace/workspace.ts";

/** What a helper lists inside of a copy. */
export interface ListedEntry {
  /** `other`: a pipe, socket or device, or a folder that lies too deep. */
  readonly kind: "file" | "link" | "folder" | "other";
  readonly mode: number;
  readonly size: number;
  /** Time of the last change of content or attributes in ns, which no program can set. */
  readonly changed: bigint;
  /** Differs after each change, unless it happened within the resolution of the clock. */
  readonly stamp: string;
}

/** Entries by their paths as text of any bytes; folders before their content. "" is the root. */
export type Listing = ReadonlyMap<string, ListedEntry>;

/** Thrown when the output is no listing. */
export class ListingError extends Error {}

/** Longest path that is read, bytes. The first entry below is of the kind `other`, and its content is left out. */
export const maxCopyPath = 3_000;
/** Names the end of a listing. */
export const listingEnd = "end";

/**
 * Lists the folder $0 in two parts: names, which end with NUL, and their attributes with the names again. So names with line ends cannot be mistaken
 * for records.
 */
export const listScript = `cd "$0" || exit 1
find . -xdev -print0
printf '\\0'
find . -xdev -print0 | xargs -0 stat -c '%f %s %i %Z %z %n'
printf ${listingEnd}`;

const record = /^([0-9a-f]{1,8}) (\d{1,20}) (\d{1,20}) (-?\d{1,12}) (\S{1,20} [\d:]{1,10}(?:\.(\d{1,9}))? \S{1,10}) /;
const types: Readonly<Record<number, ListedEntry["kind"]>> = { 0o100000: "file", 0o120000: "link", 0o040000: "folder" };

/** Reads the output of `listScript`. @throws ListingError */
export function parseListing(output: Buffer, maxEntries: number): Listing {
  const text = output.toString("latin1");
  const split = text.indexOf("\0\0");
  if (split === -1 || !text.endsWith(listingEnd)) throw new ListingError("The listing of the copy is incomplete.");
  const names = text.slice(0, split).split("\0");
  if (names.length > maxEntries) throw new ListingError(`The copy has more than ${maxEntries.toLocaleString("en-US")} files.`);
  const listing = new Map<string, ListedEntry>();
  let at = split + 2;
  for (const name of names) {
    const [head, mode, size, , seconds, , fraction] = record.exec(text.slice(at, at + 160)) ?? [];
    const isHere = head !== undefined && text.startsWith(`${name}\n`, at + head.length);
    // A path that is too long for the system has no attributes.
    if (!isHere && name.length > maxCopyPath) continue;
    if (!isHere || mode === undefined || size === undefined || seconds === undefined)
      throw new ListingError("The listing of the copy contradicts itself.");
    at += head.length + name.length + 1;
    const path = name === "." ? "" : fromBytes(Buffer.from(name.slice(2), "latin1"));
    if (name !== "." && !isPlain(name)) throw new ListingError("The listing of the copy has an invalid path.");
    const isDeep = name.length > maxCopyPath;
    if (isDeep && listing.get(parentOf(path))?.kind !== "folder") continue;
    const bits = Number.parseInt(mode, 16);
    listing.set(path, {
      kind: isDeep ? "other" : (types[bits & 0o170000] ?? "other"),
      mode: bits & 0o7777,
      size: Number(size),
      changed: BigInt(seconds) * 1_000_000_000n + BigInt((fraction ?? "").padEnd(9, "0") || "0"),
      stamp: head,
    });
  }
  if (at !== text.length - listingEnd.length) throw new ListingError("The listing of the copy contradicts itself.");
  if (listing.get("")?.kind !== "folder") throw new ListingError("The listing of the copy has no root.");
  for (const path of listing.keys())
    if (path !== "" && listing.get(parentOf(path))?.kind !== "folder")
      throw new ListingError("The listing of the copy has an entry without a folder.");
  return listing;
}

/** Of a file system's clock, ns. */
const fineTick = 20_000_000n;
const coarseTick = 1_000_000_000n;

/** What differs between two listings of one copy. */
export interface ListedChanges {
  /** Gone, or of another kind than before; folders before their content. */
  readonly removed: readonly string[];
  /** New, changed, or changed so late before the first listing that a later change might not show. Folders before their content. */
  readonly touched: readonly string[];
}

export function compareListings(before: Listing, after: Listing): ListedChanges {
  let newest = 0n;
  let isCoarse = true;
  for (const { changed } of before.values()) {
    if (changed > newest) newest = changed;
    if (changed % coarseTick !== 0n) isCoarse = false;
  }
  const racy = newest - (isCoarse ? coarseTick : fineTick);
  const removed = [...before].filter(([path, entry]) => after.get(path)?.kind !== entry.kind).map(([path]) => path);
  const touched = [...after]
    .filter(([path, entry]) => before.get(path)?.stamp !== entry.stamp || entry.changed >= racy)
    .map(([path]) => path);
  return { removed, touched };
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function isPlain(name: string): boolean {
  const [first, ...parts] = name.split("/");
  return first === "." && parts.length > 0 && parts.every((part) => part !== "" && part !== "." && part !== "..");
}
