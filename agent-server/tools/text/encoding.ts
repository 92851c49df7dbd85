import { createHash } from "node:crypto";

/** How a file's bytes spell its text. Kept on every write. */
export interface Encoding {
  readonly name: "utf8" | "utf16le" | "utf16be" | "latin1";
  readonly bom: boolean;
}

export const utf8: Encoding = { name: "utf8", bom: false };

export interface DecodedText {
  /** Without a byte order mark; line endings as they are. */
  readonly text: string;
  readonly encoding: Encoding;
}

/**
 * Tells text from binary and decodes it. UTF-8 and UTF-16 go by byte order mark, then UTF-8 if it is valid, then Latin-1.
 * @returns null when the bytes are not text.
 */
export function decodeText(bytes: Uint8Array): DecodedText | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const encoding = detectEncoding(buffer);
  return encoding === null ? null : { text: decodeAs(buffer, encoding), encoding };
}

/** The encoding of bytes that may be only the beginning of a file; null when they are not text. */
export function detectEncoding(bytes: Buffer, whole = true): Encoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return isUtf8(bytes, whole) ? { name: "utf8", bom: true } : null;
  // Odd lengths are not UTF-16; treating them as such would drop the last byte on the next write.
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return evenUtf16(bytes, whole) ? { name: "utf16le", bom: true } : null;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return evenUtf16(bytes, whole) ? { name: "utf16be", bom: true } : null;
  if (bytes.includes(0)) return null;
  if (isUtf8(bytes, whole)) return utf8;
  return controlShare(bytes) > 0.02 ? null : { name: "latin1", bom: false };
}

/** Bytes of a text in an encoding, byte order mark included. Text the encoding cannot spell comes as UTF-8. */
export function encodeText(text: string, encoding: Encoding): Buffer {
  switch (encoding.name) {
    case "utf16le":
      return Buffer.from(`\ufeff${text}`, "utf16le");
    case "utf16be":
      return Buffer.from(`\ufeff${text}`, "utf16le").swap16();
    case "latin1":
      // Beyond U+00FF Latin-1 has no character: the file becomes UTF-8 rather than losing what was written.
      return Buffer.from(text, isLatin1(text) ? "latin1" : "utf8");
    case "utf8":
      return Buffer.from(encoding.bom ? `\ufeff${text}` : text, "utf8");
  }
}

export function describeEncoding(encoding: Encoding): string {
  const names = { utf8: "UTF-8", utf16le: "UTF-16 LE", utf16be: "UTF-16 BE", latin1: "Latin-1" };
  return encoding.bom ? `${names[encoding.name]} with BOM` : names[encoding.name];
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function decodeAs(bytes: Buffer, encoding: Encoding): string {
  switch (encoding.name) {
    case "utf16le":
      return bytes.subarray(2).toString("utf16le");
    case "utf16be":
      return Buffer.from(bytes.subarray(2)).swap16().toString("utf16le");
    case "latin1":
      return bytes.toString("latin1");
    case "utf8":
      return bytes.subarray(encoding.bom ? 3 : 0).toString("utf8");
  }
}

function evenUtf16(bytes: Buffer, whole: boolean): boolean {
  return !whole || bytes.length % 2 === 0;
}

function isUtf8(bytes: Buffer, whole: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false;
  return true;
}

/** Share of control characters that no text file has: what tells Latin-1 from binary without NUL. */
function controlShare(bytes: Buffer): number {
  const sample = bytes.subarray(0, 8192);
  let control = 0;
  for (const byte of sample)
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b) control++;
  return sample.length === 0 ? 0 : control / sample.length;
}
