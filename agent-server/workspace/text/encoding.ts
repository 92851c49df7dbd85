import { createHash } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";

/** Encoding of a file, preserved on every write. `latin1` means Windows-1252, a superset of Latin-1. */
export interface Encoding {
  readonly name: "utf8" | "utf16le" | "utf16be" | "latin1";
  readonly bom: boolean;
}

export const utf8: Encoding = { name: "utf8", bom: false };

export interface DecodedText {
  /** Without byte order mark; line endings unchanged. */
  readonly text: string;
  readonly encoding: Encoding;
}

/** Characters of Windows-1252 where Latin-1 has control characters; its five undefined positions stay as they are. */
const letters = new Map(
  Array.from(
    "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178",
    (letter, index) => [0x80 + index, letter],
  ),
);
const bytesOf = new Map([...letters].map(([byte, letter]) => [letter, byte]));

/**
 * Distinguishes text from binary and decodes it: by byte order mark, then as valid UTF-8, then as UTF-16 by the position of zero bytes,
 * then as Windows-1252. Bytes that would not round-trip exactly are not text.
 * @returns null when the bytes are not text.
 */
export function decodeText(bytes: Uint8Array): DecodedText | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const encoding = detectEncoding(buffer);
  if (encoding === null) return null;
  const text = decodeAs(buffer, encoding);
  // Unpaired surrogates would be lost when the text is stored as UTF-8.
  return text.isWellFormed() ? { text, encoding } : null;
}

/** The encoding of bytes that may be only the start of a file; null when they are not text. */
export function detectEncoding(bytes: Buffer, whole = true): Encoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return isUtf8(bytes, whole) ? { name: "utf8", bom: true } : null;
  // UTF-16 has an even length; decoding an odd one would drop the last byte on the next write.
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return isUtf16(bytes, "utf16le", whole) ? { name: "utf16le", bom: true } : null;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return isUtf16(bytes, "utf16be", whole) ? { name: "utf16be", bom: true } : null;
  if (bytes.includes(0)) {
    const name = zerosOf(bytes);
    return name !== null && isUtf16(bytes, name, whole) ? { name, bom: false } : null;
  }
  if (isUtf8(bytes, whole)) return utf8;
  return controlShare(bytes) > 0.02 ? null : { name: "latin1", bom: false };
}

/** Encodes a text, including the byte order mark. @throws LancelotError `invalid_params` for a character the encoding lacks. */
export function encodeText(text: string, encoding: Encoding): Buffer {
  const mark = encoding.bom ? "\ufeff" : "";
  switch (encoding.name) {
    case "utf16le":
      return Buffer.from(mark + text, "utf16le");
    case "utf16be":
      return Buffer.from(mark + text, "utf16le").swap16();
    case "latin1":
      return encodeLatin(text);
    case "utf8":
      if (!text.isWellFormed()) throw cannotHold("half a character", text, text.search(/\p{Surrogate}/u), encoding);
      return Buffer.from(mark + text, "utf8");
  }
}

function encodeLatin(text: string): Buffer {
  const bytes = Buffer.alloc(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const byte = code < 0x80 || (code > 0x9f && code <= 0xff) ? code : bytesOf.get(text.charAt(at));
    if (byte === undefined)
      throw cannotHold(`\u201c${String.fromCodePoint(text.codePointAt(at) ?? code)}\u201d`, text, at, { name: "latin1", bom: false });
    bytes[at] = byte;
  }
  return bytes;
}

function cannotHold(what: string, text: string, at: number, encoding: Encoding): LancelotError {
  const line = text.slice(0, at).split("\n").length;
  const instead =
    encoding.name === "latin1"
      ? " Use only characters of that encoding. To convert the file to UTF-8, delete it and create it again."
      : " Leave it out.";
  return new LancelotError(
    "invalid_params",
    `The file is in ${describeEncoding(encoding)}, which cannot hold ${what} (line ${line}). Nothing was changed.${instead}`,
  );
}

export function describeEncoding(encoding: Encoding): string {
  const names = { utf8: "UTF-8", utf16le: "UTF-16 LE", utf16be: "UTF-16 BE", latin1: "Windows-1252" };
  return encoding.bom ? `${names[encoding.name]} with BOM` : names[encoding.name];
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function decodeAs(bytes: Buffer, encoding: Encoding): string {
  switch (encoding.name) {
    case "utf16le":
      return bytes.subarray(encoding.bom ? 2 : 0).toString("utf16le");
    case "utf16be":
      return Buffer.from(bytes.subarray(encoding.bom ? 2 : 0))
        .swap16()
        .toString("utf16le");
    case "latin1":
      return bytes.toString("latin1").replace(/[\u0080-\u009f]/g, (one) => letters.get(one.charCodeAt(0)) ?? one);
    case "utf8":
      return bytes.subarray(encoding.bom ? 3 : 0).toString("utf8");
  }
}

/** True for complete UTF-16 units without zero units, which occur in other formats (UTF-32, programs). */
function isUtf16(bytes: Buffer, name: "utf16le" | "utf16be", whole: boolean): boolean {
  if (whole && bytes.length % 2 !== 0) return false;
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    const unit = name === "utf16le" ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
    if (unit < 0x20 && unit !== 0x09 && unit !== 0x0a && unit !== 0x0d && unit !== 0x0c && unit !== 0x1b) return false;
  }
  return true;
}

/** Mostly ASCII text in UTF-16 has a zero byte at every other position and nowhere else. */
function zerosOf(bytes: Buffer): "utf16le" | "utf16be" | null {
  const sample = bytes.subarray(0, 8192);
  let [even, odd] = [0, 0];
  for (const [at, byte] of sample.entries()) {
    if (byte !== 0) continue;
    if (at % 2 === 0) even++;
    else odd++;
  }
  const most = sample.length / 4;
  if (even === 0 && odd > most) return "utf16le";
  return odd === 0 && even > most ? "utf16be" : null;
}

function isUtf8(bytes: Buffer, whole: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

/** Share of control characters, which distinguishes Latin-1 from binary data without NUL. */
function controlShare(bytes: Buffer): number {
  const sample = bytes.subarray(0, 8192);
  let control = 0;
  for (const byte of sample)
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b) control++;
  return sample.length === 0 ? 0 : control / sample.length;
}
