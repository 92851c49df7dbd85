/** A value of a GGUF header. Arrays hold one kind. */
export type Value =
  | { u32: number }
  | { f32: number }
  | { bool: boolean }
  | { text: string }
  | { texts: string[] }
  | { f32s: number[] }
  | { i32s: number[] };
export interface Tensor {
  name: string;
  /** The size that lies together in memory first. */
  shape: number[];
  kind: "f32" | "q8_0";
  data: Uint8Array;
}

const kinds = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 };
const tensorKinds = { f32: 0, q8_0: 8 };

/** A tensor of whole floats. */
export function f32(name: string, shape: number[], values: Float32Array): Tensor {
  return { name, shape, kind: "f32", data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

/** A tensor of eight bits a value: blocks of 32, each with its scale as half a float. */
export function q8(name: string, shape: number[], values: Float32Array): Tensor {
  const block = 32;
  const data = Buffer.alloc((values.length / block) * (block + 2));
  for (let at = 0; at < values.length; at += block) {
    const part = values.subarray(at, at + block);
    const scale = part.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) / 127;
    const offset = (at / block) * (block + 2);
    data.writeUInt16LE(halfOf(scale), offset);
    for (const [index, value] of part.entries())
      data.writeInt8(scale === 0 ? 0 : Math.max(-127, Math.min(127, Math.round(value / scale))), offset + 2 + index);
  }
  return { name, shape, kind: "q8_0", data };
}

/** The bits of a number of half precision; scales are positive, and neither huge nor beyond what halves can tell from 0. */
function halfOf(value: number): number {
  const [bits = 0] = new Uint32Array(new Float32Array([value]).buffer);
  const exponent = ((bits >>> 23) & 255) - 112;
  if (exponent <= 0) {
    if (exponent < -10) return 0;
    const mantissa = (bits & 0x7fffff) | 0x800000;
    const shift = 14 - exponent;
    return (mantissa >>> shift) + ((mantissa >>> (shift - 1)) & 1);
  }
  return ((exponent << 10) | ((bits & 0x7fffff) >>> 13)) + ((bits >>> 12) & 1);
}

/** GGUF version 3, aligned to 32 bytes. */
export function gguf(header: Record<string, Value>, tensors: Tensor[]): Buffer {
  const parts: Buffer[] = [];
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
  const f32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    parts.push(bytes);
  };
  const text = (value: string) => {
    const bytes = Buffer.from(value, "utf8");
    u64(bytes.length);
    parts.push(bytes);
  };
  const array = <T>(kind: number, items: T[], write: (item: T) => void) => {
    u32(kinds.array);
    u32(kind);
    u64(items.length);
    for (const item of items) write(item);
  };

  parts.push(Buffer.from("GGUF"));
  u32(3);
  u64(tensors.length);
  u64(Object.keys(header).length);
  for (const [key, value] of Object.entries(header)) {
    text(key);
    if ("u32" in value) {
      u32(kinds.u32);
      u32(value.u32);
    } else if ("f32" in value) {
      u32(kinds.f32);
      f32(value.f32);
    } else if ("bool" in value) {
      u32(kinds.bool);
      parts.push(Buffer.from([Number(value.bool)]));
    } else if ("text" in value) {
      u32(kinds.text);
      text(value.text);
    } else if ("texts" in value) array(kinds.text, value.texts, text);
    else if ("f32s" in value) array(kinds.f32, value.f32s, f32);
    else array(kinds.i32, value.i32s, u32);
  }
  let offset = 0;
  for (const { name, shape, kind, data } of tensors) {
    text(name);
    u32(shape.length);
    for (const size of shape) u64(size);
    u32(tensorKinds[kind]);
    u64(offset);
    offset += Math.ceil(data.byteLength / 32) * 32;
  }
  const head = Buffer.concat(parts);
  const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
  const bodies = tensors.map(({ data }) => padded(Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
  return Buffer.concat([padded(head), ...bodies]);
}
