import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync, realpathSync, statSync, type Stats } from "node:fs";
import * as nodePath from "node:path";
import type { Refusal } from "./path-syntax.ts";

export type EntryType = "file" | "directory" | "other" | "missing";

export type Walked =
  | {
      readonly ok: true;
      readonly absolute: string;
      readonly type: EntryType;
      /** The missing tail of `absolute`; empty when it exists. */
      readonly missing: string;
    }
  | ({ readonly ok: false } & Refusal);

const maxLinks = 40;

/**
 * Resolves a path as the system would: follows every link, applies `..` after the link before it, uses the true spelling on
 * case-insensitive disks, and appends missing parts as written. A dangling link leads to its target, because writing through it
 * would create that file.
 */
export function walk(path: string): Walked {
  if (!/(?:^|[/\\])\.\.(?:[/\\]|$)/.test(path)) {
    try {
      const absolute = realpathSync.native(path);
      return { ok: true, absolute, type: typeOf(lstatSync(absolute)), missing: "" };
    } catch (error) {
      if (codeOf(error) !== "ENOENT") return refusal(error);
    }
  }
  try {
    return follow(path);
  } catch (error) {
    return refusal(error);
  }
}

function follow(path: string): Walked {
  const root = nodePath.parse(path).root;
  const queue = split(path.slice(root.length));
  let current = root;
  let links = 0;
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      current = nodePath.dirname(current);
      continue;
    }
    const next = nodePath.join(current, name);
    const entry = lstatSync(next, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink() === true) {
      links += 1;
      if (links > maxLinks) return loop;
      const target = readlinkSync(next).replace(/^\\\\\?\\(?=[a-z]:)/i, "");
      const targetRoot = nodePath.parse(target).root;
      if (nodePath.isAbsolute(target)) current = nodePath.resolve(current, targetRoot);
      queue.unshift(...split(target.slice(targetRoot.length)));
      continue;
    }
    // Like the system: anything before a slash, even a trailing one, must be a folder.
    if (entry !== undefined && !entry.isDirectory() && queue.length > 0) return notDirectory;
    current = next;
  }
  return spell(current);
}

/** The true spelling of the deepest existing part, and the rest as written. */
function spell(path: string): Walked {
  const rest: string[] = [];
  for (let existing = path; ; ) {
    try {
      const absolute = realpathSync.native(existing);
      if (rest.length === 0) return { ok: true, absolute, type: typeOf(lstatSync(absolute)), missing: "" };
      return { ok: true, absolute: nodePath.join(absolute, ...rest), type: "missing", missing: rest.join(nodePath.sep) };
    } catch (error) {
      if (codeOf(error) !== "ENOENT") return refusal(error);
    }
    const parent = nodePath.dirname(existing);
    if (parent === existing) return { ok: true, absolute: path, type: "missing", missing: path };
    rest.unshift(nodePath.basename(existing));
    existing = parent;
  }
}

function split(path: string): string[] {
  return nodePath.sep === "\\" ? path.split(/[/\\]/) : path.split("/");
}

function typeOf(entry: Stats): EntryType {
  if (entry.isFile()) return "file";
  return entry.isDirectory() ? "directory" : "other";
}

const loop: Walked = { ok: false, rule: "path.loop", message: "The path contains a loop of symbolic links." };
const notDirectory: Walked = { ok: false, rule: "path.not-a-folder", message: "A part of the path is a file, not a folder." };

function refusal(error: unknown): Walked {
  switch (codeOf(error)) {
    case "ELOOP":
      return loop;
    case "ENOTDIR":
      return notDirectory;
    case "ENAMETOOLONG":
      return { ok: false, rule: "path.long", message: "The path is too long." };
    case "EACCES":
    case "EPERM":
      return { ok: false, rule: "path.unreadable", message: "Lancelot has no permission to access this path." };
    case null:
    default:
      return { ok: false, rule: "path.unresolvable", message: "The system cannot resolve this path." };
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** True when both paths lead to the same existing file or folder. */
export function isSameEntry(one: string, other: string): boolean {
  try {
    const first = statSync(one, { bigint: true });
    const second = statSync(other, { bigint: true });
    return first.ino !== 0n && first.ino === second.ino && first.dev === second.dev;
  } catch {
    return false;
  }
}

const contentBytes = 256 * 1024;

/** A pipe in place of the file must not block. */
const fileFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** True when the file's text matches, or cannot be checked: unreadable, not a regular file, or too large. */
export function contentMatches(path: string, content: RegExp): boolean {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, fileFlags);
    const entry = fstatSync(descriptor);
    if (!entry.isFile() || entry.size > contentBytes) return true;
    const buffer = Buffer.alloc(entry.size);
    const length = readSync(descriptor, buffer, 0, entry.size, 0);
    return content.test(buffer.toString("latin1", 0, length).replaceAll("\0", ""));
  } catch {
    return true;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}
