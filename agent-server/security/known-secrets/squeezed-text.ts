/**
 * A text without blanks, line ends, control sequences and escapes, in which encoded values are searched for: `a b`, `a\n b`, `%61b`,
 * `\u0061b` and `\\\"` all become the characters they stand for. `-` and `_` become the `+` and `/` of the other base64 alphabet.
 */
export interface SqueezedText {
  readonly length: number;
  /** UTF-16 units; only the first `length` count. */
  readonly codes: Uint16Array;
  /** Where each unit begins in the source text. */
  readonly starts: Int32Array;
}

const dropped = 0;
const escape = 1;
/** What becomes of each ASCII character: `dropped`, the start of an `escape`, or a character. */
const asciiForm = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 0x1b || code === 0x25 || code === 0x26 || code === 0x5c) return escape;
  if (code <= 0x20 || code === 0x7f) return dropped;
  if (code === 0x2d) return 0x2b;
  return code === 0x5f ? 0x2f : code;
});

/** Invisible characters, which change nothing that a reader sees: soft hyphen, zero-width characters, marks of direction. */
function isInvisible(code: number): boolean {
  return (
    code === 0xad ||
    code === 0xa0 ||
    code === 0xfeff ||
    (code >= 0x2000 && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202f) ||
    code === 0x2060
  );
}

function formOf(code: number): number {
  if (code >= 128) return isInvisible(code) ? dropped : code;
  const form = asciiForm[code] ?? dropped;
  // A backslash only escapes: a value is searched for without its own backslashes too.
  return form === escape ? (code === 0x5c || code === 0x1b ? dropped : code) : form;
}

// oxlint-disable-next-line no-control-regex -- terminal sequences begin with one
const terminalSequence = /\u001b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\u0007\u001b]{0,300}(?:\u0007|\u001b\\)|[@-Z\\-_])/y;
const backslash = /\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([0-3][0-7]{2}))/iy;
const percent = /%(?:25){0,4}([0-9a-f]{2})/iy;
const entity = /&(?:amp;){0,3}(?:(amp|lt|gt|quot|apos)|#(\d{1,5})|#x([0-9a-f]{1,4}));/iy;
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The end of the escape at `at`, and the character it stands for (`dropped` for none). */
function readEscape(text: string, at: number): { end: number; code: number } {
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const first = text.charCodeAt(at);
  if (first === 0x1b) return { end: at + (match(terminalSequence)?.[0].length ?? 1), code: dropped };
  if (first === 0x5c) {
    const found = match(backslash);
    if (found === null) return { end: at + 1, code: dropped };
    const code = Number.parseInt(found[1] ?? found[2] ?? found[3] ?? "0", found[3] === undefined ? 16 : 8);
    return { end: at + found[0].length, code: formOf(code) };
  }
  if (first === 0x25) {
    const found = match(percent);
    return found === null ? { end: at + 1, code: first } : { end: at + found[0].length, code: formOf(Number.parseInt(found[1] ?? "", 16)) };
  }
  const found = match(entity);
  if (found === null) return { end: at + 1, code: first };
  const [whole, name, decimal, hex] = found;
  const character = name === undefined ? Number(decimal ?? `0x${hex ?? "0"}`) : (entities[name.toLowerCase()] ?? "&").charCodeAt(0);
  return { end: at + whole.length, code: formOf(character & 0xffff) };
}

/** Reused between calls, because a new buffer of this size takes longer than the search in it. */
let codes = new Uint16Array(0);
let starts = new Int32Array(0);
/** Buffers above this many units are not kept. */
const maxKeptUnits = 1 << 20;

/** Squeezes a text. The result is valid until the next call. */
export function squeeze(text: string): SqueezedText {
  const [intoCodes, intoStarts] = buffers(text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    let code = unit < 128 ? (asciiForm[unit] as number) : formOf(unit);
    let end = at + 1;
    if (code === escape) ({ end, code } = readEscape(text, at));
    if (code !== dropped) {
      intoCodes[length] = code;
      intoStarts[length] = at;
      length += 1;
    }
    at = end;
  }
  return { length, codes: intoCodes, starts: intoStarts };
}

function buffers(size: number): [Uint16Array, Int32Array] {
  if (size > maxKeptUnits) return [new Uint16Array(size), new Int32Array(size)];
  if (codes.length < size) {
    const capacity = Math.min(maxKeptUnits, Math.max(4_096, size * 2));
    codes = new Uint16Array(capacity);
    starts = new Int32Array(capacity);
  }
  return [codes, starts];
}

/** Where the character that begins at `start` of the source text ends. */
export function endOfCharacter(text: string, start: number): number {
  const unit = text.charCodeAt(start);
  return unit < 128 && asciiForm[unit] === escape ? readEscape(text, start).end : start + 1;
}

// oxlint-disable-next-line no-control-regex -- terminal sequences begin with one
const unfinishedSequence = /\u001b(?:\[[0-?]{0,40}[ -/]{0,4}|\][^\u0007\u001b]{0,300})?$/;
const unfinishedEscape = /(?:%(?:25){0,4}2?[0-9a-f]?|\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?|[0-3]?[0-7]?)|&(?:amp;){0,3}#?\w{0,6})$/i;
const longestEscape = 400;

/** Where an escape begins that the end of the text cuts, and whether it is a terminal sequence, which shows nothing. */
export function unfinishedEscapeAt(text: string): { at: number; isSequence: boolean } {
  const first = Math.max(0, text.length - longestEscape);
  const tail = text.slice(first);
  const sequence = tail.search(unfinishedSequence);
  if (sequence !== -1) return { at: first + sequence, isSequence: true };
  const escape = tail.search(unfinishedEscape);
  return { at: escape === -1 ? text.length : first + escape, isSequence: false };
}

/** The squeezed form of a value whose escapes are not read. */
export function withoutEscapes(text: string): string {
  return text
    .split("")
    .map((unit) => formOf(unit.charCodeAt(0)))
    .filter((code) => code !== dropped)
    .map((code) => String.fromCharCode(code))
    .join("");
}

/** The squeezed form of a value. */
export function squeezed(text: string): string {
  const { length, codes: units } = squeeze(text);
  return Buffer.from(units.buffer, 0, length * 2).toString("utf16le");
}
