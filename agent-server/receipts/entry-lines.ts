import { bodyOf, problemAt, type Problem } from "./diagnose.ts";
import { hashEntry } from "./entry.ts";

/** An entry outside the database: a line of a sealed segment or of an export. */
export interface EntryLine {
  /** Canonical JSON, byte for byte as it was hashed. */
  body: string;
  hash: string;
}

const before = '{"entry":';
const whole = /^\{"entry":(?<body>.*),"hash":"(?<hash>[0-9a-f]{64})"\}$/s;

/** The line, without its end: JSON that holds the body as it stands, so that the hash can be taken of it again. */
export function writeLine({ body, hash }: EntryLine): string {
  return `${before}${body},"hash":"${hash}"}`;
}

export function isEntryLine(line: string): boolean {
  return line.startsWith(before);
}

export function readLine(line: string): EntryLine | null {
  const groups = whole.exec(line)?.groups;
  return groups === undefined ? null : { body: groups["body"] ?? "", hash: groups["hash"] ?? "" };
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
