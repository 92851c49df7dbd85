import { bodyOf, problemAt, type Problem } from "./diagnose.ts";
import { hashEntry } from "./entry.ts";

/** An entry outside the database: a line of a sealed segment or of an export. */
export interface EntryLine {
  /** Canonical JSON, byte for byte as it was hashed. */
  body: string;
  hash: string;
}

const before = '{"entry":';
const between = ',"hash":"';
const after = '"}';
const tail = between.length + 64 + after.length;

/** The line, without its end: JSON that holds the body as it stands, so that the hash can be taken of it again. */
export function writeLine({ body, hash }: EntryLine): string {
  return before + body + between + hash + after;
}

export function isEntryLine(line: string): boolean {
  return line.startsWith(before);
}

export function readLine(line: string): EntryLine | null {
  if (!isEntryLine(line) || line.length < before.length + tail || !line.endsWith(after)) return null;
  if (line.slice(-tail, -tail + between.length) !== between) return null;
  return { body: line.slice(before.length, -tail), hash: line.slice(-tail + between.length, -after.length) };
}

/**
 * What is wrong with `line` as the entry `seq` after the one with hash `previous`; null when it is the one. `where` says which
 * file it is in.
 */
export function checkLine(line: EntryLine | null, seq: number, previous: string, where: string): Problem | null {
  if (line === null) return problemAt(seq, null, "changed", `${where} cannot be read`);
  const body = bodyOf(line);
  const id = typeof body?.id === "string" ? body.id : null;
  if (hashEntry(previous, line.body) === line.hash && body?.seq === seq) return null;
  if (typeof body?.seq === "number" && body.seq > seq) return problemAt(seq, null, "removed", `is missing ${where}`);
  return problemAt(seq, id, "changed", `${where} is not as it was written`);
}
