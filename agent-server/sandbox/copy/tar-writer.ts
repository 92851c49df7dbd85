import { toBytes } from "../../workspace/workspace.ts";

/** A name or path with one character for each of its bytes. */
type Octets = string;

export interface TarEntry {
  /** As text of any bytes. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link";
  readonly mode: number;
  /** Bytes of a file; 0 otherwise. */
  readonly size: number;
  /** Modification time in seconds. */
  readonly mtime: number;
  readonly uid: number;
  readonly gid: number;
  /** Of a link. */
  readonly target?: string;
}

export const tarBlock = 512;
const nameBytes = 100;
const types = { file: "0", link: "2", folder: "5" } as const;

/** The header of an entry in the GNU format, whose names may have any bytes and any length. */
export function tarHeader(entry: TarEntry): Buffer {
  const path = toOctets(entry.kind === "folder" ? `${entry.path}/` : entry.path);
  const target = toOctets(entry.target ?? "");
  return Buffer.concat([
    ...(path.length > nameBytes ? [longName("L", path)] : []),
    ...(target.length > nameBytes ? [longName("K", target)] : []),
    block({ ...entry, path, target, type: types[entry.kind] }),
  ]);
}

/** Zeros after the content of a file. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((tarBlock - (size % tarBlock)) % tarBlock);
}

/** Ends an archive. */
export const tarEnd = Buffer.alloc(2 * tarBlock);

function longName(type: "L" | "K", name: Octets): Buffer {
  const size = name.length + 1;
  const header = block({ path: "././@LongLink", target: "", type, mode: 0, size, mtime: 0, uid: 0, gid: 0 });
  return Buffer.concat([header, Buffer.from(name, "latin1"), Buffer.alloc(1), tarPadding(size)]);
}

function toOctets(path: string): Octets {
  return toBytes(path).toString("latin1");
}

function block(
  of: Omit<TarEntry, "kind" | "path" | "target"> & { readonly path: Octets; readonly target: Octets; readonly type: string },
): Buffer {
  const header = Buffer.alloc(tarBlock);
  header.write(of.path.slice(0, nameBytes), 0, "latin1");
  number(header, 100, 8, of.mode);
  number(header, 108, 8, of.uid);
  number(header, 116, 8, of.gid);
  number(header, 124, 12, of.size);
  number(header, 136, 12, Math.max(0, Math.floor(of.mtime)));
  header.write(of.type, 156, "latin1");
  header.write(of.target.slice(0, nameBytes), 157, "latin1");
  header.write("ustar  \0", 257, "latin1");
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** Octal digits where they fit, else the binary form of GNU. */
function number(header: Buffer, at: number, length: number, value: number): void {
  const digits = value.toString(8).padStart(length - 1, "0");
  if (digits.length < length) {
    header.write(`${digits}\0`, at, "latin1");
    return;
  }
  header.writeBigUInt64BE(BigInt(value), at + length - 8);
  header[at] = 0x80;
}
