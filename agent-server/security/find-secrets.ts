import { decodedLines } from "./encoded-text.ts";
import { createHintIndex } from "./hint-index.ts";
import { looksHidden } from "./placeholders/placeholder-format.ts";
import { findAssignments } from "./secret-assignments.ts";
import { findCommands } from "./secret-commands.ts";
import { secretContexts } from "./secret-contexts.ts";
import { secretFormats, type SecretFormat } from "./secret-formats.ts";
import { findNames } from "./secret-names.ts";
import { findSentences, findTables } from "./secret-prose.ts";
import { joinSpans, type SecretSpan } from "./secret-spans.ts";

const formats: readonly SecretFormat[] = [...secretFormats, ...secretContexts];
const hints = createHintIndex(formats.flatMap((format) => format.hints));

/** Least length of a text with a secret that is found by its format or name. */
const leastFormat = 8;
/** JSON in JSON in an address: no log nests deeper. */
const mostEncodings = 3;

/** Replaces each secret with the result of `found`. */
export function replaceSecrets(text: string, found: (kind: string, secret: string) => string): string {
  let result = "";
  let done = 0;
  for (const { start, end, kind } of findSecrets(text)) {
    const secret = text.slice(start, end);
    if (looksHidden(secret)) continue;
    result += text.slice(done, start) + found(kind, secret);
    done = end;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Secrets in a text, in order and without overlap, also in what it contains as JSON or as a part of an address. */
export function findSecrets(text: string): SecretSpan[] {
  const found: SecretSpan[] = [];
  find(text, 0, found);
  return joinSpans(found);
}

function find(text: string, depth: number, into: SecretSpan[]): void {
  if (text.length < leastFormat) return;
  const present = hints.in(text);
  for (const format of formats) if (format.hints.some((hint) => present.has(hint))) findFormat(text, format, into);
  const names = findNames(text);
  findAssignments(text, names, into);
  findSentences(text, names, into);
  findTables(text, names, into);
  findCommands(text, into);
  if (depth === mostEncodings) return;
  for (const line of decodedLines(text)) {
    const inner: SecretSpan[] = [];
    find(line.text, depth + 1, inner);
    for (const { start, end, kind } of inner) into.push({ start: line.at[start] ?? 0, end: line.at[end] ?? 0, kind });
  }
}

function findFormat(text: string, { pattern, group, check, kind }: SecretFormat, into: SecretSpan[]): void {
  for (const match of text.matchAll(pattern)) {
    const secret = group === undefined ? match[0] : (match[group] ?? "");
    if (secret === "" || looksHidden(secret) || (check !== undefined && !check(secret))) continue;
    const start = match.index + match[0].lastIndexOf(secret);
    into.push({ start, end: start + secret.length, kind });
  }
}
