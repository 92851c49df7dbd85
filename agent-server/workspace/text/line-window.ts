import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { cutLine, maxLineChars, maxOutputBytes } from "./output-bounds.ts";
import { describeEncoding, detectEncoding, type Encoding } from "./encoding.ts";

/** A range of a file's lines. Line numbers are 1-based. */
export interface Window {
  readonly lines: readonly string[];
  readonly from: number;
  /** Total lines of the file; null when the end was not reached. */
  readonly total: number | null;
}

/** The lines of a text that fit the limits. */
export function textWindow(text: string, offset: number, limit: number): Window {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  const lines: string[] = [];
  let bytes = 0;
  for (let index = offset - 1; index < all.length && lines.length < limit; index++) {
    const line = cutLine((all[index] ?? "").replace(/\r$/, ""));
    bytes += Buffer.byteLength(line) + 8;
    if (bytes > maxOutputBytes && lines.length > 0) break;
    lines.push(line);
  }
  return { lines, from: offset, total: all.length };
}

/** The same for a file that is too large for memory: reads from its start, keeping only the shown lines. */
export async function streamWindow(
  handle: FileHandle,
  encoding: Encoding,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<Window> {
  const label = { utf8: "utf-8", utf16le: "utf-16le", utf16be: "utf-16be", latin1: "windows-1252" }[encoding.name];
  const decoder = new TextDecoder(label);
  const lines: string[] = [];
  let number = 1;
  let line = "";
  let dropped = 0;
  let bytes = 0;
  /** Appends to the current line, up to its maximum shown length. */
  const grow = (part: string) => {
    if (number < offset) return;
    const remaining = maxLineChars + 1 - line.length;
    line += part.slice(0, Math.max(0, remaining));
    dropped += Math.max(0, part.length - Math.max(0, remaining));
  };
  const end = (): boolean => {
    if (number >= offset) {
      const shown =
        dropped > 0 ? `${line.slice(0, maxLineChars)}… [line cut, ${line.length + dropped} characters]` : cutLine(line.replace(/\r$/, ""));
      bytes += Buffer.byteLength(shown) + 8;
      if (bytes > maxOutputBytes && lines.length > 0) return false;
      lines.push(shown);
    }
    number++;
    line = "";
    dropped = 0;
    return lines.length < limit;
  };
  const stream = createReadStream("", { fd: handle, autoClose: false, start: 0, highWaterMark: 256 * 1024, signal });
  for await (const chunk of stream) {
    const text = decoder.decode(chunk as Buffer, { stream: true });
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      grow(text.slice(from, at));
      from = at + 1;
      if (!end()) {
        stream.destroy();
        return { lines, from: offset, total: null };
      }
    }
    grow(text.slice(from));
  }
  grow(decoder.decode());
  if (line !== "") end();
  return { lines, from: offset, total: number - 1 };
}

/** Numbered lines, followed by a line with their range and how to read on. */
export function showWindow(window: Window, about: string): string {
  const last = window.from + window.lines.length - 1;
  const numbered = window.lines.map((line, index) => `${window.from + index}\t${line}`);
  const more = window.total === null || last < window.total;
  if (window.from === 1 && !more) return about === "" ? numbered.join("\n") : `${numbered.join("\n")}\n[${about}]`;
  const of = window.total === null ? "" : ` of ${window.total}`;
  const next = more ? ` Read on with offset ${last + 1}.` : "";
  return `${numbered.join("\n")}\n[lines ${window.from}–${last}${of}${about === "" ? "" : `, ${about}`}.${next}]`;
}

/** Describes a file that is not plain UTF-8 with \n line endings. */
export function aboutText(encoding: Encoding, text: string): string {
  const parts: string[] = [];
  if (encoding.name !== "utf8" || encoding.bom) parts.push(describeEncoding(encoding));
  if (text.includes("\r\n")) parts.push("CRLF line endings");
  return parts.join(", ");
}

/** Describes bytes that are not text. */
export function describeBytes(start: Buffer): string | null {
  const ascii = start.subarray(0, 16).toString("latin1");
  if (ascii.startsWith("\x89PNG") && start.length >= 24) return `a PNG image, ${start.readUInt32BE(16)}×${start.readUInt32BE(20)} pixels`;
  if (/^GIF8[79]a/.test(ascii) && start.length >= 10) return `a GIF image, ${start.readUInt16LE(6)}×${start.readUInt16LE(8)} pixels`;
  if (start[0] === 0xff && start[1] === 0xd8 && start[2] === 0xff) return "a JPEG image";
  if (ascii.startsWith("RIFF") && ascii.slice(8, 12) === "WEBP") return "a WebP image";
  if (ascii.startsWith("%PDF-")) return "a PDF document";
  if (ascii.startsWith("PK\x03\x04")) return "a ZIP archive (or a document in one)";
  if (start[0] === 0x1f && start[1] === 0x8b) return "gzip-compressed data";
  if (ascii.startsWith("\x7fELF") || ascii.startsWith("MZ")) return "a program";
  return detectEncoding(start, false) === null ? "binary data" : null;
}
