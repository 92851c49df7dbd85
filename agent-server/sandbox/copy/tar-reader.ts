import { fromBytes } from "../../workspace/workspace.ts";
import { tarBlock } from "./tar-writer.ts";

/** An entry of an archive. Its names are those in the archive, not checked. */
export interface TarItem {
  /** As text of any bytes. */
  readonly path: string;
  readonly kind: "file" | "hard link" | "link" | "folder" | "other";
  readonly size: number;
  /** Modification time in seconds. */
  readonly mtime: number;
  /** Of links and hard links. */
  readonly target: string;
  /** The bytes of a file, which can be read until the next item is asked for. */
  content(): AsyncGenerator<Buffer>;
}

/** Thrown for an archive that is cut off or has no valid form. */
export class TarError extends Error {}

const kinds: Readonly<Record<string, TarItem["kind"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hard link",
  "2": "link",
  "5": "folder",
};
/** Longest names and attributes of an entry, bytes. */
const maxName = 64 * 1024;

/** Reads the entries of archives that follow one another, in the GNU and POSIX formats. @throws TarError */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarItem> {
  const source = createSource(chunks);
  let named: { path?: string; target?: string; size?: number } = {};
  for (;;) {
    const header = await source.take(tarBlock);
    if (header === null) break;
    if (header.every((byte) => byte === 0)) continue;
    if (!isValid(header)) throw new TarError("The header of an entry is invalid.");
    const type = String.fromCharCode(header[156] ?? 0);
    const size = named.size ?? numberAt(header, 124, 12);
    const padding = (tarBlock - (size % tarBlock)) % tarBlock;
    if (type === "L" || type === "K" || type === "x" || type === "g") {
      if (size > maxName) throw new TarError("The name of an entry is too long.");
      const text = (await source.need(size)).toString("latin1");
      await source.need(padding);
      if (type === "x") named = { ...named, ...attributesOf(text) };
      else if (type !== "g") named = { ...named, [type === "L" ? "path" : "target"]: text.replace(/\0.*/s, "") };
      continue;
    }
    const kind = kinds[type] ?? "other";
    const prefix = header.toString("latin1", 257, 263) === "ustar\0" ? textAt(header, 345, 155) : "";
    const path = named.path ?? `${prefix === "" ? "" : `${prefix}/`}${textAt(header, 0, 100)}`;
    let left = kind === "file" || kind === "other" ? size : 0;
    const rest = left === 0 ? 0 : padding;
    yield {
      ...{ path: toText(path), kind, size: left, mtime: numberAt(header, 136, 12) },
      target: toText(named.target ?? textAt(header, 157, 100)),
      async *content() {
        while (left > 0) {
          const part = await source.some(left);
          left -= part.length;
          yield part;
        }
      },
    };
    while (left > 0) left -= (await source.some(left)).length;
    await source.need(rest);
    named = {};
  }
}

function createSource(chunks: AsyncIterable<Uint8Array>) {
  const iterator = chunks[Symbol.asyncIterator]();
  let pending: Buffer = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const { value, done } = await iterator.next();
    if (done === true) return false;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    return true;
  };
  /** Null at the end. */
  async function take(length: number): Promise<Buffer | null> {
    while (pending.length < length)
      if (!(await more())) {
        if (pending.length > 0) throw new TarError("The archive is cut off.");
        return null;
      }
    const part = pending.subarray(0, length);
    pending = pending.subarray(length);
    return part;
  }
  return {
    take,
    async need(length: number): Promise<Buffer> {
      const part = length === 0 ? Buffer.alloc(0) : await take(length);
      if (part === null) throw new TarError("The archive is cut off.");
      return part;
    },
    /** One to `most` bytes. */
    async some(most: number): Promise<Buffer> {
      while (pending.length === 0) if (!(await more())) throw new TarError("The archive is cut off.");
      const part = pending.subarray(0, most);
      pending = pending.subarray(part.length);
      return part;
    },
  };
}

/** @param octets one character for each byte */
function toText(octets: string): string {
  return fromBytes(Buffer.from(octets, "latin1"));
}

function isValid(header: Buffer): boolean {
  let sum = 0;
  for (let index = 0; index < tarBlock; index += 1) sum += index >= 148 && index < 156 ? 32 : (header[index] ?? 0);
  return numberAt(header, 148, 8) === sum;
}

function textAt(header: Buffer, start: number, length: number): string {
  return header.toString("latin1", start, start + length).replace(/\0.*/s, "");
}

function numberAt(header: Buffer, start: number, length: number): number {
  if ((header[start] ?? 0) === 0x80) {
    const value = header.readBigUInt64BE(start + length - 8);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new TarError("A number in the archive is too large.");
    return Number(value);
  }
  const digits = textAt(header, start, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new TarError("A number in the archive is invalid.");
  return Number.parseInt(digits === "" ? "0" : digits, 8);
}

/** Reads `LENGTH NAME=VALUE\n` records. */
function attributesOf(text: string): { path?: string; target?: string; size?: number } {
  const found: { path?: string; target?: string; size?: number } = {};
  for (let at = 0; at < text.length; ) {
    const length = Number(/^(\d{1,6}) /.exec(text.slice(at, at + 8))?.[1] ?? 0);
    const record = text.slice(at, at + length);
    const [, name, value] = /^\d+ ([^=]+)=(.*)\n$/s.exec(record) ?? [];
    if (length === 0 || name === undefined || value === undefined) throw new TarError("The attributes of an entry are invalid.");
    if (name === "path") found.path = value;
    if (name === "linkpath") found.target = value;
    if (name === "size") {
      const size = Number(value);
      if (!Number.isSafeInteger(size) || size < 0) throw new TarError("A number in the archive is invalid.");
      found.size = size;
    }
    at += length;
  }
  return found;
}
