import { writeFileSync } from "node:fs";
import { f32, gguf, type Tensor, type Value } from "./gguf.ts";

/**
 * Writes a Llama of random weights (half a megabyte, always the same) that reads and writes bytes. It has nothing to say, says it
 * within milliseconds, and never ends by itself: for tests of streams, stops, crashes and grammars.
 */
export function writeTinyModel(path: string, context = 2_048): void {
  const width = 64;
  const hidden = 192;
  const layers = 2;
  const { texts, types } = vocabulary();
  const random = gaussian(12_345);
  const matrix = (name: string, columns: number, rows: number, scale: number): Tensor =>
    f32(
      name,
      [columns, rows],
      Float32Array.from({ length: columns * rows }, () => random() * scale),
    );
  const norm = (name: string): Tensor => f32(name, [width], new Float32Array(width).fill(1));

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
    "llama.context_length": { u32: context },
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
