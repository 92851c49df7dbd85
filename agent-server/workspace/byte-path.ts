import { realpath } from "node:fs/promises";

/**
 * Paths of any bytes as text. Linux names are bytes, not text: a valid UTF-8 path is itself, and every other byte becomes NUL and two hex
 * digits. No name contains NUL, so this is reversible, and node:fs refuses a path that was not converted back. ASCII is always valid, so an
 * escape never hides a separator or a dot.
 */
const escaped = /\0([89a-f][0-9a-f])/;

/** The text of a path as the system reports it. */
export function fromBytes(bytes: Buffer): string {
  const text = bytes.toString();
  if (!text.includes("\ufffd") || Buffer.from(text).equals(bytes)) return text;
  let path = "";
  for (let at = 0; at < bytes.byteLength; ) {
    const character = characterAt(bytes, at);
    path += character ?? `\0${bytes.toString("hex", at, at + 1)}`;
    at += character === null ? 1 : Buffer.byteLength(character);
  }
  return path;
}

/** The argument for node:fs that names this path. */
export function diskPath(path: string): string | Buffer {
  if (!path.includes("\0")) return path;
  const parts = path.split(escaped).map((part, index) => Buffer.from(part, index % 2 === 0 ? "utf8" : "hex"));
  return Buffer.concat(parts);
}

/** A path with every link resolved, as the system spells it. */
export async function realPath(path: string): Promise<string> {
  return fromBytes(await realpath(diskPath(path), { encoding: "buffer" }));
}

/** The bytes of a path. */
export function toBytes(path: string): Buffer {
  const disk = diskPath(path);
  return typeof disk === "string" ? Buffer.from(disk) : disk;
}

// Joiners inside emoji are visible; all other characters of this kind make a name look like another one.
const invisible = /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}])\u{200D}|[\p{Cc}\p{Zl}\p{Zp}\\]|(?!\u{200D})\p{Cf}/gu;
const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

/**
 * A path for people and models, with forward slashes: control characters, invisible ones and bytes that are not UTF-8 are escaped with a
 * backslash, and so is the backslash itself. Two paths never have the same text.
 */
export function displayPath(path: string): string {
  return path
    .split(/(\0[0-9a-f]{2})/)
    .map((part, index) =>
      index % 2 === 1
        ? `\\x${part.slice(1)}`
        : part.replace(invisible, (character) => named[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
    )
    .join("");
}

/** The character that starts at a byte; null when no valid one does. */
function characterAt(bytes: Buffer, at: number): string | null {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const part = bytes.subarray(at, at + length);
  const text = part.toString();
  return part.byteLength === length && Buffer.from(text).equals(part) ? text : null;
}
