import { listedEntries } from "../git/index-entries.ts";

/** One entry as `ls-tree` has it: mode in octal and hash, or the stage of an unmerged file. */
type Listed = Map<string, string>;

const headerBytes = 12;
/** Times, device, inode, mode, owner and size before an entry's hash. */
const statBytes = 40;
const modeAt = 24;
const nameMask = 0x0fff;
const extendedFlag = 0x4000;
const stageMask = 0x3000;
const intentToAdd = 0x2000;
/** Limits in bytes of a name and of all names, which version 4 stores as differences. */
const maxName = 4_096;
const maxNames = 64 * 1024 * 1024;

/**
 * Reads the entries of an index (git's index-format, versions 2 to 4). It is read here and not by git, because a command may have written it.
 * @returns null for anything else, and for an index that is split over several files.
 */
export function parseIndex(bytes: Buffer, hashBytes: number): Listed | null {
  if (bytes.length < headerBytes + hashBytes || bytes.toString("latin1", 0, 4) !== "DIRC") return null;
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - hashBytes;
  if (version < 2 || version > 4) return null;
  const entries: Listed = new Map();
  let at = headerBytes;
  let previous = Buffer.alloc(0);
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    const start = at;
    if (start + statBytes + hashBytes + 2 > end) return null;
    const mode = bytes
      .readUInt32BE(start + modeAt)
      .toString(8)
      .padStart(6, "0");
    const hash = bytes.toString("hex", start + statBytes, start + statBytes + hashBytes);
    at += statBytes + hashBytes;
    const flags = bytes.readUInt16BE(at);
    at += 2;
    const extended = (flags & extendedFlag) !== 0 ? bytes.readUInt16BE(at) : 0;
    if ((flags & extendedFlag) !== 0) at += 2;
    let kept = 0;
    if (version === 4) {
      const stripped = readOffset(bytes, at, end);
      if (stripped === null || stripped.value > previous.length) return null;
      kept = previous.length - stripped.value;
      at = stripped.next;
    }
    const stop = bytes.indexOf(0, at);
    if (stop < 0 || stop >= end) return null;
    const name = Buffer.concat([previous.subarray(0, kept), bytes.subarray(at, stop)]);
    if (version < 4 && name.length < nameMask && name.length !== (flags & nameMask)) return null;
    at = version === 4 ? stop + 1 : start + ((stop - start + 8) & ~7);
    previous = name;
    total += name.length;
    if (name.length > maxName || total > maxNames) return null;
    if ((extended & intentToAdd) === 0) entries.set(name.toString("utf8"), (flags & stageMask) === 0 ? `${mode} ${hash}` : "unmerged");
  }
  return hasPart(bytes, at, end, "link") ? null : entries;
}

/** The variable-length number of a version 4 entry. */
function readOffset(bytes: Buffer, start: number, end: number): { value: number; next: number } | null {
  let value = 0;
  for (let at = start; at < end && at < start + 5; at += 1) {
    const byte = bytes[at] ?? 0;
    value = at === start ? byte & 127 : (value + 1) * 128 + (byte & 127);
    if ((byte & 128) === 0) return { value, next: at + 1 };
  }
  return null;
}

function hasPart(bytes: Buffer, start: number, end: number, name: string): boolean {
  for (let at = start; at + 8 <= end; at += 8 + bytes.readUInt32BE(at + 4)) if (bytes.toString("latin1", at, at + 4) === name) return true;
  return false;
}

/** Reads what `ls-tree -r -z` and `ls-files --stage -z` print. */
export function parseListing(text: string): Listed {
  return new Map(listedEntries(text).map(({ name, mode, hash }) => [name, `${mode} ${hash}`]));
}

/** Names whose entries differ, sorted. */
export function differingNames(one: Listed, other: Listed): string[] {
  const names = [...one.keys(), ...[...other.keys()].filter((name) => !one.has(name))];
  return names.filter((name) => one.get(name) !== other.get(name)).sort();
}
