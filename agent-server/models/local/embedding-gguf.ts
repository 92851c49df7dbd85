import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

/** A value of a GGUF header. Arrays hold one type. */
export type GgufValue =
  | { u32: number }
  | { f32: number }
  | { bool: boolean }
  | { text: string }
  | { texts: readonly string[] }
  | { i32s: readonly number[] };

export interface GgufTensor {
  name: string;
  /** Dimensions, the contiguous one first. */
  shape: readonly number[];
  kind: "f32" | "q8_0";
  /** Its data in pieces, `tensorBytes` bytes in all. */
  data: () => AsyncIterable<Uint8Array>;
}

const valueKinds = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 };
const tensorKinds = { f32: 0, q8_0: 8 };
/** Alignment of tensors (bytes). */
const alignment = 32;
/** Values in a block of Q8_0: one scale of 16 bits and as many signed bytes. */
const block = 32;

/** Writes a GGUF file, version 3, and flushes it to disk. Returns its size in bytes and SHA-256. */
export async function writeGguf(
  path: string,
  header: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path, "w");
  const hash = createHash("sha256");
  let bytes = 0;
  const write = async (piece: Uint8Array) => {
    await file.writeFile(piece);
    hash.update(piece);
    bytes += piece.byteLength;
  };
  try {
    await write(headOf(header, tensors));
    await write(padding(bytes));
    for (const tensor of tensors) {
      for await (const piece of tensor.data()) await write(piece);
      await write(padding(bytes));
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Size of the tensor in the file, without padding (bytes). */
function tensorBytes({ shape, kind }: GgufTensor): number {
  const values = shape.reduce((product, size) => product * size, 1);
  return kind === "f32" ? values * 4 : (values / block) * (block + 2);
}

function headOf(header: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Uint8Array {
  const parts: Buffer[] = [Buffer.from("GGUF")];
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    parts.push(bytes);
  };
  const u64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    parts.push(bytes);
  };
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    u64(bytes.length);
    parts.push(bytes);
  };
  const array = <T>(kind: number, items: readonly T[], write: (item: T) => void) => {
    u32(valueKinds.array);
    u32(kind);
    u64(items.length);
    items.forEach((item) => write(item));
  };

  u32(3);
  u64(tensors.length);
  u64(Object.keys(header).length);
  for (const [key, value] of Object.entries(header)) {
    text(key);
    if ("u32" in value) {
      u32(valueKinds.u32);
      u32(value.u32);
    } else if ("f32" in value) {
      u32(valueKinds.f32);
      parts.push(Buffer.from(Float32Array.of(value.f32).buffer));
    } else if ("bool" in value) {
      u32(valueKinds.bool);
      parts.push(Buffer.from([Number(value.bool)]));
    } else if ("text" in value) {
      u32(valueKinds.text);
      text(value.text);
    } else if ("texts" in value) array(valueKinds.text, value.texts, text);
    // A negative number has the bits of its unsigned counterpart.
    else array(valueKinds.i32, value.i32s, (item) => u32(item >>> 0));
  }
  let offset = 0;
  for (const tensor of tensors) {
    const { name, shape, kind } = tensor;
    text(name);
    u32(shape.length);
    shape.forEach(u64);
    u32(tensorKinds[kind]);
    u64(offset);
    offset += tensorBytes(tensor) + padding(tensorBytes(tensor)).byteLength;
  }
  return Buffer.concat(parts);
}

function padding(bytes: number): Uint8Array {
  return new Uint8Array((alignment - (bytes % alignment)) % alignment);
}

/** Quantizes values as Q8_0. Their number must be a multiple of 32. */
export function quantize(values: Float32Array): Uint8Array {
  if (values.length % block !== 0) throw new RangeError(`Q8_0 takes blocks of ${block} values, not ${values.length}`);
  const bytes = new DataView(new ArrayBuffer((values.length / block) * (block + 2)));
  for (let start = 0, at = 0; start < values.length; start += block, at += block + 2) {
    let largest = 0;
    for (let index = start; index < start + block; index++) largest = Math.max(largest, Math.abs(values[index] ?? 0));
    const scale = largest / 127;
    bytes.setUint16(at, halfOf(scale), true);
    for (let index = 0; index < block; index++) {
      const value = scale === 0 ? 0 : Math.round((values[start + index] ?? 0) / scale);
      bytes.setInt8(at + 2 + index, Math.max(-127, Math.min(127, value)));
    }
  }
  return new Uint8Array(bytes.buffer);
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** The bits of a number as a half-precision float, rounded to nearest. */
function halfOf(value: number): number {
  single[0] = value;
  const bits = singleBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const fraction = bits & 0x7fffff;
  if (exponent >= 31) return sign | 0x7c00;
  if (exponent < -10) return sign;
  if (exponent <= 0) {
    const shift = 14 - exponent;
    const full = fraction | 0x800000;
    return sign | ((full >>> shift) + ((full >>> (shift - 1)) & 1));
  }
  return (sign | (exponent << 10) | (fraction >>> 13)) + ((fraction >>> 12) & 1);
}

/** The number that the bits of a half-precision float represent. */
export function halfToNumber(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
