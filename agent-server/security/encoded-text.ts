/** What a line of a text says when its escapes are decoded, and where each character of it stands in the text. */
export interface DecodedLine {
  readonly text: string;
  /** The position in the outer text of each character, and at the end of the last one. */
  readonly at: Int32Array;
}

const anyEscape = /\\(?:["'\\/bfnrt]|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}/g;
const backslashEscape = /\\(?:["'\\/bfnrt]|u[0-9A-Fa-f]{4})/;
/** In a form a plus is a blank; base64 in an address has its plus escaped. */
const formBlank = /%[0-9A-Fa-f]{2}\+|\+%[0-9A-Fa-f]{2}/;
const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * What a text says where it has escapes: lines with those of JSON, and the words of addresses. JSON comes first, because it stands outside.
 */
export function* decodedLines(text: string): Generator<DecodedLine> {
  let from = 0;
  while (from < text.length) {
    anyEscape.lastIndex = from;
    const escape = anyEscape.exec(text);
    if (escape === null) return;
    const start = Math.max(from, text.lastIndexOf("\n", escape.index) + 1);
    const lineEnd = text.indexOf("\n", escape.index);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const line = text.slice(start, end);
    if (backslashEscape.test(line)) yield decodeJson(line, start);
    else for (const { 0: word, index } of line.matchAll(escapedWord)) if (word.includes("%")) yield decodeAddress(word, start + index);
    from = end + 1;
  }
}

/** A value in an address, or another word that may have escapes. */
const escapedWord = /[^\s"<>&`?=]+(?:=+(?=[\s"<>&`]|$))?/g;

/** Where strings with escapes begin and end. There their content has a line of its own, which the rules for whole lines need. */
function stringEnds(line: string): Set<number> {
  const quotes: number[] = [];
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (line.charAt(at - 1 - backslashes) === "\\") backslashes += 1;
    if (backslashes % 2 === 0) quotes.push(at);
  }
  const result = new Set<number>();
  let escape = line.indexOf("\\");
  for (let index = 0; index + 1 < quotes.length && escape !== -1; index += 2) {
    const [first = 0, last = 0] = quotes.slice(index, index + 2);
    if (escape < first) escape = line.indexOf("\\", first);
    if (escape !== -1 && escape < last) result.add(first).add(last);
  }
  return result;
}

function decodeJson(line: string, offset: number): DecodedLine {
  const ends = stringEnds(line);
  const at = new Int32Array(line.length + 1);
  const parts: string[] = [];
  let length = 0;
  let index = 0;
  while (index < line.length) {
    const next = line.indexOf("\\", index);
    const plainEnd = next === -1 ? line.length : next;
    let from = index;
    for (let position = index; position < plainEnd; position += 1) {
      at[length++] = offset + position;
      if (!ends.has(position)) continue;
      parts.push(line.slice(from, position), "\n");
      from = position + 1;
    }
    parts.push(line.slice(from, plainEnd));
    if (next === -1) break;
    const [character, size] = unescapedAt(line, next);
    at[length++] = offset + next;
    parts.push(character);
    index = next + size;
  }
  at[length] = offset + line.length;
  return { text: parts.join(""), at };
}

function decodeAddress(line: string, offset: number): DecodedLine {
  const isForm = formBlank.test(line);
  const at = new Int32Array(line.length + 1);
  const characters: string[] = [];
  let index = 0;
  const put = (character: string, size: number): void => {
    at[characters.length] = offset + index;
    characters.push(character);
    index += size;
  };
  while (index < line.length) {
    const plain = line.charAt(index);
    const byte = plain === "%" ? byteAt(line, index) : -1;
    if (byte === -1) put(plain === "+" && isForm ? " " : plain, 1);
    else if (byte < 0x80) put(String.fromCharCode(byte), 3);
    else {
      const size = byte >= 0xe0 ? 3 : 2;
      const bytes = Array.from({ length: size }, (_, part) => byteAt(line, index + part * 3));
      const decoded = bytes.includes(-1) ? "" : Buffer.from(bytes).toString("utf8");
      if (decoded.length === 1 && decoded !== "\uFFFD") put(decoded, size * 3);
      else put("\uFFFD", 3);
    }
  }
  at[characters.length] = offset + line.length;
  return { text: characters.join(""), at };
}

/** The character that an escape stands for, and the length of the escape. A backslash that escapes nothing stands for itself. */
function unescapedAt(line: string, at: number): readonly [character: string, size: number] {
  const name = line.charAt(at + 1);
  if (name === '"' || name === "'" || name === "\\" || name === "/") return [name, 2];
  if (name === "u") {
    const digits = line.slice(at + 2, at + 6);
    return /^[0-9A-Fa-f]{4}$/.test(digits) ? [String.fromCharCode(Number.parseInt(digits, 16)), 6] : ["\\", 1];
  }
  const control = controls[name];
  return control === undefined ? ["\\", 1] : [control, 2];
}

/** The byte of a percent escape, or -1. */
function byteAt(line: string, at: number): number {
  if (line.charAt(at) !== "%") return -1;
  const digits = line.slice(at + 1, at + 3);
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
}
