import { trimEnd } from "../contract/trim-end.ts";
import { type FoundName, nameSource, secretKind } from "./secret-names.ts";
import { lineBefore, type SecretSpan } from "./secret-spans.ts";
import { hasDigitAndLetter, isChosenPassword, isPhrase, isPlaceholder, looksGenerated } from "./secret-values.ts";

/** Secrets that people write down: in sentences, in lines of two words, in tables. */

const verbs = "is|was|are|to|lautet|ist|es|era|est|était|è|é|foi";
/** `the password is hunter2`, `I changed the password to "hunter2"`: what follows the name. */
const sentence = new RegExp(
  String.raw`(?:\s{1,2}(?:of|for|von|für|de|di|da|do|per|para|pour)(?:\s{1,2}[\w.@-]{1,40}){1,3})?\s{1,2}(?:${verbs}):?\s{1,2}` +
    String.raw`(?:"(?<double>[^"\r\n]{4,200})"|'(?<single>[^'\r\n]{4,200})'|\x60(?<back>[^\x60\r\n]{4,200})\x60|(?<bare>[^\s"'\x60,;()<>]{6,400}))`,
  "iy",
);
/** `with password hunter2`, `use the token abc`, `pw hunter2`, and a line of a configuration file: `requirepass hunter2`. */
const nextWord = /\s{1,4}["']?(?<value>[^\s"'`,;()<>=:]{6,400})(?<rest>[^\r\n]{0,40})/y;
const lineLead = /(?:^|(["'`]))[ \t]{0,16}(?:set )?[\w.-]{0,40}$/i;
const sentenceLead = /(?:\b(?:with|and|the|mit|con|avec|com)|,)\s{1,2}(?:the |new |access |api )?$/i;

/** True for a value that nobody would write in its place except as a secret. */
export function isWritten(value: string): boolean {
  if (isPlaceholder(value) || /^(?:https?:|\/|\.)/.test(value)) return false;
  return isChosenPassword(value) ? !/^[a-z]+-[a-z0-9-]+$|^[A-Za-z]+\.[A-Za-z.]+\d?$|^[A-Z]+[-_]?\d+$/.test(value) : looksGenerated(value);
}

/** Finds what sentences say of secrets, and lines of a name and a value. */
export function findSentences(text: string, names: readonly FoundName[], into: SecretSpan[]): void {
  for (const { name, at } of names) {
    sentence.lastIndex = at + name.length;
    const said = sentence.exec(text);
    if (said !== null) {
      const { double, single, back, bare = "" } = said.groups ?? {};
      const quoted = double ?? single ?? back;
      const value = quoted ?? bare;
      const end = said.index + said[0].length - (quoted === undefined ? 0 : 1);
      if (isWritten(value) || (quoted !== undefined && /\s/.test(quoted) && isPhrase(quoted)))
        into.push({ start: end - value.length, end, kind: secretKind(name) });
    }
    nextWord.lastIndex = at + name.length;
    const next = nextWord.exec(text);
    const { value: word = "", rest = "" } = next?.groups ?? {};
    // A point may belong to a password, never to a token.
    const value = word.length > 20 ? trimEnd(word, ".!?") : word;
    if (next === null || !isWritten(value)) continue;
    const before = lineBefore(text, at);
    const lead = lineLead.exec(before);
    const isLine = lead !== null && (/^["']?\s*(?:#.*)?$/.test(rest) || (lead[1] !== undefined && rest.startsWith(lead[1])));
    const end = next.index + next[0].length - rest.length - (word.length - value.length);
    if (isLine || sentenceLead.test(before)) into.push({ start: end - value.length, end, kind: secretKind(name) });
  }
}

/** Rows of a table that are looked at after its head. */
const longestTable = 2_000;
const anyCell = /^["'*_ \t`]{0,4}\p{L}[\p{L}\d _-]{0,30}["*_ \t`]{0,4}$|^\s*$/u;
const headCell = new RegExp(String.raw`^["*_ \t\x60]{0,4}(?:[\w-]{0,20}[ _-])?(?:${nameSource})["*_ \t\x60]{0,4}$`, "i");

/** Finds the values below a cell that names a secret, in a table of Markdown or of comma-separated values. */
export function findTables(text: string, names: readonly FoundName[], into: SecretSpan[]): void {
  let done = 0;
  for (const { at } of names) {
    if (at < done) continue;
    const window = text.slice(at, at + 500);
    const lineEnd = window.search(/[\r\n]/);
    done = at + (lineEnd === -1 ? window.length : lineEnd);
    const head = lineBefore(text, at) + window.slice(0, Math.max(0, lineEnd));
    if (lineEnd === -1 || !/[,;|\t]/.test(head)) continue;
    const sign = head.includes("|") ? "|" : head.includes("\t") ? "\t" : head.includes(";") ? ";" : ",";
    const cells = head.split(sign);
    const columns = cells.flatMap((cell, column) => (headCell.test(cell) ? [column] : []));
    const isHead = columns.length > 0 && cells.filter((cell) => cell.trim() !== "").length > 1 && cells.every((cell) => anyCell.test(cell));
    if (isHead) done = findRows(text, at + lineEnd, { sign, width: cells.length, columns }, into);
  }
}

interface Table {
  readonly sign: string;
  readonly width: number;
  readonly columns: readonly number[];
}

/** @returns where the rows end */
function findRows(text: string, from: number, { sign, width, columns }: Table, into: SecretSpan[]): number {
  let start = from;
  for (let row = 0; row < longestTable; row += 1) {
    const next = text.indexOf("\n", start);
    if (next === -1) return start;
    start = next + 1;
    const end = text.indexOf("\n", start);
    const line = text.slice(start, Math.min(end === -1 ? text.length : end, start + 2_000));
    const cells = line.split(sign);
    if (cells.length !== width) return start;
    let at = start;
    for (const [column, cell] of cells.entries()) {
      const value = cell.trim().replace(/^["`]|["`]$/g, "");
      if (columns.includes(column) && hasDigitAndLetter(value) && !/\s/.test(value) && (isChosenPassword(value) || looksGenerated(value)))
        into.push({ start: at + cell.indexOf(value), end: at + cell.indexOf(value) + value.length, kind: "password" });
      at += cell.length + sign.length;
    }
  }
  return start;
}
