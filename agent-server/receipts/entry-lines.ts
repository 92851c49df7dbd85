import { bodyOf, problemAt, type Problem } from "./diagnose.ts";
import { hashEntry } from "./entry.ts";

/** An entry in a file: one line of a sealed segment or an export. */
export interface EntryLine {
  /** Canonical JSON, exactly the bytes that were hashed. */
  body: string;
  hash: string;
}

const before = '{"entry":';
const whole = /^\{"entry":(?<body>.*),"hash":"(?<hash>[0-9a-f]{64})"\}$/s;

/** Serializes a line without its newline: JSON that contains the body verbatim, so that its hash can be recomputed. */
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
 * Checks that `line` is entry `seq` and links to the hash `previous`; returns null when it does. `where` names the file in messages.
 */
export function checkLine(line: EntryLine | null, seq: number, previous: string, where: string): Problem | null {
  if (line === null) return problemAt(seq, null, "changed", `${where} cannot be parsed`);
  const body = bodyOf(line);
  const id = typeof body?.id === "string" ? body.id : null;
  if (hashEntry(previous, line.body) === line.hash && body?.seq === seq) return null;
  if (typeof body?.seq === "number" && body.seq > seq) return problemAt(seq, null, "removed", `is missing ${where}`);
  return problemAt(seq, id, "changed", `${where} was modified`);
}
