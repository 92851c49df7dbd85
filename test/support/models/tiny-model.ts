import { writeFileSync } from "node:fs";

/** A value of a GGUF header. Arrays hold one kind. */
type Value =
  | { u32: number }
  | { f32: number }
  | { bool: boolean }
  | { text: string }
  | { texts: string[] }
  | { f32s: number[] }
  | { i32s: number[] };
interface Tensor {
  name: string;
  shape: number[];
  data: Float32Array;
}

const kinds = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 };

/**
 * Writes a Llama of random weights (half a megabyte, always the same) that reads and writes bytes. It has nothing to say, says it
 * within milliseconds, and never ends by itself: for tests of streams, stops, crashes and grammars.
 */
export function writeTinyModel(path: string): void {
  const width = 64;
  const hidden = 192;
  const layers = 2;
  const { texts, types } = vocabulary();
  const random = gaussian(12_345);
  const matrix = (name: string, columns: number, rows: number, scale: number): Tensor => ({
    name,
    shape: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => random() * scale),
  });
  const norm = (name: string): Tensor => ({ name, shape: [width], data: new Float32Array(width).fill(1) });

  const tensors = [
    matrix("token_embd.weight", width, texts.length, 0.5),
    norm("output_norm.weight"),
    matrix("output.weight", width, texts.length, 0.2),
  ];
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string) => `blk.${layer}.${part}.weight`;
    tensors.push(norm(name("attn_norm")), norm(name("ffn_norm")));
    for (const part of ["attn_q", "attn_k", "attn_v", "attn_output"]) tensors.push(matrix(name(part), width, width, 0.05));
    tensors.push(
      matrix(name("ffn_gate"), width, hidden, 0.05),
      matrix(name("ffn_up"), width, hidden, 0.05),
      matrix(name("ffn_down"), hidden, width, 0.05),
    );
  }
  const template =
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";
  const header: Record<string, Value> = {
    "general.architecture": { text: "llama" },
    "general.name": { text: "tiny-random" },
    "llama.context_length": { u32: 2_048 },
    "llama.embedding_length": { u32: width },
    "llama.block_count": { u32: layers },
    "llama.feed_forward_length": { u32: hidden },
    "llama.attention.head_count": { u32: 2 },
    "llama.attention.head_count_kv": { u32: 2 },
    "llama.rope.dimension_count": { u32: 32 },
    "llama.attention.layer_norm_rms_epsilon": { f32: 1e-5 },
    "llama.vocab_size": { u32: texts.length },
    "tokenizer.ggml.model": { text: "llama" },
    "tokenizer.ggml.tokens": { texts },
    "tokenizer.ggml.scores": { f32s: texts.map(() => 0) },
    "tokenizer.ggml.token_type": { i32s: types },
    "tokenizer.ggml.bos_token_id": { u32: 1 },
    "tokenizer.ggml.eos_token_id": { u32: texts.indexOf("<|end|>") },
    "tokenizer.ggml.unknown_token_id": { u32: 0 },
    "tokenizer.ggml.add_bos_token": { bool: true },
    "tokenizer.ggml.add_space_prefix": { bool: false },
    "tokenizer.chat_template": { text: template },
  };
  writeFileSync(path, gguf(header, tensors));
}

/** One token for each byte, one for the space, and the marks of the chat template. */
function vocabulary(): { texts: string[]; types: number[] } {
  const control = 3;
  const texts = ["<unk>", "<s>", "</s>"];
  const types = [2, control, control];
  for (let byte = 0; byte < 256; byte++) {
    texts.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    types.push(6);
  }
  texts.push("\u2581", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>");
  types.push(1, control, control, control, control);
  while (texts.length % 32 !== 0) {
    texts.push(`<|unused${texts.length}|>`);
    types.push(5);
  }
  return { texts, types };
}

function gaussian(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform() + 1e-9)) * Math.cos(2 * Math.PI * uniform());
}

/** GGUF version 3, float tensors, aligned to 32 bytes. */
function gguf(header: Record<string, Value>, tensors: Tensor[]): Buffer {
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
  for (const { name, shape, data } of tensors) {
    text(name);
    u32(shape.length);
    for (const size of shape) u64(size);
    u32(0);
    u64(offset);
    offset += Math.ceil(data.byteLength / 32) * 32;
  }
  const head = Buffer.concat(parts);
  const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
  const bodies = tensors.map(({ data }) => padded(Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
  return Buffer.concat([padded(head), ...bodies]);
}
