import { trimEnd } from "../../contract/trim-end.ts";
import { gunzipSync, inflateSync } from "node:zlib";

/** A part of a text that encodes another text. */
export interface EncodedRun {
  readonly start: number;
  readonly end: number;
  readonly texts: readonly string[];
}

/** Maximum bytes of a decompressed run. */
const maxUnpacked = 100_000;
const base64Run = /[A-Za-z0-9+/_-]{12,}(?:\r?\n(?:[A-Za-z0-9+/_-]{4,}|[A-Za-z0-9+/_-]{1,3}(?==)))*={0,2}/g;
const base32Run = /(?<![A-Za-z0-9])[A-Z2-7]{16,}={0,6}|(?<![A-Za-z0-9])[a-z2-7]{16,}={0,6}/g;
const hexRun = /(?:(?:0x|\\x|%|=)?[0-9a-f]{2}[\s:,;-]{0,2}){8,}/gi;
const escapeRun =
  /(?:\\u\{?[0-9a-f]{2,6}\}?|\\[0-7]{2,3}|\\x[0-9a-f]{2}|&#x?[0-9a-f]{2,6};?|%u[0-9a-f]{4}|[^\s\\%&]{1,3}(?=\\u|\\x|&#|%u)){6,}/gi;
const codeRun = /(?:\b(?:1[01]\d|12[0-6]|[3-9]\d)\b[\s,;.|_-]{1,3}){7,}(?:1[01]\d|12[0-6]|[3-9]\d)\b/g;
const bitRun = /(?:[01]{7,8}[\s,;]?){8,}/g;
/** One character, one separator, repeated: `g h p _ a B`. */
const spacedRun = /\S(?:(?:[ \t]{1,2}|[.·|,*-])\S){11,}/g;

/** The runs of a text that may encode another text (base64, base32, hex, escapes, character codes, bits, or spaced out), with that text. */
export function encodedRuns(text: string): EncodedRun[] {
  const runs: EncodedRun[] = [];
  const look = (pattern: RegExp, decode: (run: string) => readonly string[]): void => {
    for (const { 0: run, index } of text.matchAll(pattern)) {
      const texts = [...new Set(decode(run))].filter((one) => one.length >= 4);
      if (texts.length > 0) runs.push({ start: index, end: index + run.length, texts });
    }
  };
  look(base64Run, fromBase64);
  look(base32Run, (run) => bytesToTexts(base32(run)));
  look(hexRun, (run) => bytesToTexts(Buffer.from(run.replace(/0x|\\x|[%=\s:,;-]/gi, ""), "hex")));
  look(escapeRun, (run) => [unescape(run)]);
  look(codeRun, (run) => [String.fromCharCode(...(run.match(/\d+/g) ?? []).map(Number))]);
  look(bitRun, (run) => [String.fromCharCode(...(run.match(/[01]{7,8}/g) ?? []).map((bits) => Number.parseInt(bits, 2)))]);
  look(spacedRun, (run) => [
    Array.from(run)
      .filter((_char, at) => at % 2 === 0)
      .join(""),
    run.replace(/[ \t.·|,*-]/g, ""),
  ]);
  for (const { start, end, joined } of chunkedRuns(text)) {
    const texts = [
      ...bytesToTexts(Buffer.from(joined, "base64")),
      ...(/^[0-9a-f]+$/i.test(joined) ? bytesToTexts(Buffer.from(joined, "hex")) : []),
    ];
    runs.push({ start, end, texts });
  }
  return runs;
}

/** Words of equal length (four, or two long ones) and a shorter last one: base64 or hexadecimal in pieces. */
function chunkedRuns(text: string): { start: number; end: number; joined: string }[] {
  const words = [...text.matchAll(/[A-Za-z0-9+/_=-]+/g)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));
  const runs: { start: number; end: number; joined: string }[] = [];
  for (let at = 0; at < words.length; ) {
    const length = words[at]?.word.length ?? 0;
    let next = at + 1;
    while (words[next]?.word.length === length && isGap(text.slice(words[next - 1]?.end, words[next]?.start))) next += 1;
    const last = words[next];
    const isRest = last !== undefined && last.word.length < length && isGap(text.slice(words[next - 1]?.end, last.start));
    const run = words.slice(at, isRest ? next + 1 : next);
    const [first] = run;
    const end = run.at(-1)?.end;
    if (next - at >= (length >= 8 ? 2 : 4) && length >= 2 && first !== undefined && end !== undefined)
      runs.push({ start: first.start, end, joined: run.map(({ word }) => word).join("") });
    at = next;
  }
  return runs;
}

const isGap = (between: string): boolean => /^[\s,;:.|]{1,3}$/.test(between);

/** Reversible transformations that keep or mirror positions, so that a match in the result can be removed from the original. */
export const mirrors: readonly {
  readonly there: (text: string) => string;
  readonly back: (text: string) => string;
  readonly reversed: boolean;
}[] = [
  { there: reverse, back: reverse, reversed: true },
  { there: rot13, back: rot13, reversed: false },
  { there: (text) => reverse(rot13(text)), back: (text) => reverse(rot13(text)), reversed: true },
];

export function reverse(text: string): string {
  return Array.from(text).toReversed().join("");
}

export function rot13(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => {
    const first = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
  });
}

/** Variants of a text: entities and percent signs decoded, compatibility forms resolved, and values joined that quotes or line ends split. */
export function plainForms(text: string): string[] {
  const compatible = text.normalize("NFKC").replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "");
  const decoded = unescape(decodePercent(compatible));
  return [
    compatible,
    decoded,
    decoded.replace(/(["'`])\s*(?:[+.&]|\.\.|\|\|)\s*\1|(["'`])\s+\2/g, ""),
    decoded.replace(/\\[ \t]*\r?\n[ \t]*/g, ""),
    decoded.replace(/(?:(?<![ \t])[ \t]+)?\r?\n[ \t>*|#-]*/g, ""),
  ].filter((form) => form !== text);
}

function fromBase64(run: string): string[] {
  const joined = run.replace(/\s+/g, "");
  const candidates = new Set([joined, ...run.split(/\s+/), ...joined.split(/[/+_-]/)].filter((part) => part.length >= 12));
  const texts: string[] = [];
  for (const candidate of candidates)
    for (let offset = 0; offset < 4; offset += 1) texts.push(...bytesToTexts(Buffer.from(candidate.slice(offset), "base64")));
  return texts;
}

/** Possible readings of bytes: as UTF-8, as UTF-16, and decompressed. */
function bytesToTexts(bytes: Buffer): string[] {
  const texts = [bytes.toString("latin1")];
  if (bytes.some((byte) => byte > 0x7f)) texts.push(bytes.toString("utf8"));
  if (bytes.includes(0)) texts.push(bytes.toString("latin1").replaceAll("\0", ""));
  const unpack = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync : bytes[0] === 0x78 ? inflateSync : null;
  if (unpack !== null) {
    try {
      texts.push(unpack(bytes, { maxOutputLength: maxUnpacked }).toString("utf8"));
    } catch {
      // Only the first bytes looked compressed.
    }
  }
  return texts;
}

function base32(run: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const char of trimEnd(run.toUpperCase(), "=")) {
    value = (value << 5) | "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(char);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >> bits) & 0xff);
    }
    value &= 0xff;
  }
  return Buffer.from(bytes);
}

function unescape(text: string): string {
  return text
    .replace(
      /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|%u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});?/gi,
      (whole, ...codes: unknown[]) =>
        fromCode(Number.parseInt(codes.find((code): code is string => typeof code === "string") ?? "", 16), whole),
    )
    .replace(/&#(\d{1,7});?/g, (whole, code: string) => fromCode(Number(code), whole))
    .replace(/\\([0-7]{3}|[0-7]{2}(?=\\))/g, (whole, code: string) => fromCode(Number.parseInt(code, 8), whole));
}

function fromCode(code: number, whole: string): string {
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
}

function decodePercent(text: string): string {
  let current = text;
  for (let round = 0; round < 4 && current.includes("%"); round += 1) {
    const next = current.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const decoded = Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8");
      return decoded.includes("\ufffd") ? run : decoded;
    });
    if (next === current) break;
    current = next;
  }
  return current;
}
