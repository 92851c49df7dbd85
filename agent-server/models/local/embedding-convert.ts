import { type FileHandle, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { type GgufTensor, type GgufValue, halfToNumber, quantize, writeGguf } from "./embedding-gguf.ts";

/** Files of a BERT model in the layout of the hub, all in one folder. */
export const sourceFiles = { weights: "model.fp16.safetensors", tokenizer: "tokenizer.json", config: "config.json" };

const BertConfig = z.object({
  num_hidden_layers: z.int().min(1).max(48),
  hidden_size: z.int().multipleOf(32),
  intermediate_size: z.int().multipleOf(32),
  num_attention_heads: z.int().min(1),
  layer_norm_eps: z.number(),
  max_position_embeddings: z.int(),
  type_vocab_size: z.int(),
});
const Tokenizer = z.object({ model: z.object({ vocab: z.record(z.string(), z.int()) }) });
const Entry = z.object({
  dtype: z.enum(["F16", "F32"]),
  shape: z.array(z.int().min(1)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});

/** Values processed at once, so that other work runs after a few milliseconds. A multiple of 32. */
const pieceValues = 131_072;

interface Weights {
  /** @throws Error when the file has no such tensor. */
  shape(name: string): number[];
  pieces(name: string): AsyncIterable<Float32Array<ArrayBuffer>>;
}

const layerParts = [
  ["attention.self.query", "attn_q"],
  ["attention.self.key", "attn_k"],
  ["attention.self.value", "attn_v"],
  ["attention.output.dense", "attn_output"],
  ["attention.output.LayerNorm", "attn_output_norm"],
  ["intermediate.dense", "ffn_up"],
  ["output.dense", "ffn_down"],
  ["output.LayerNorm", "layer_output_norm"],
] as const;

/**
 * Writes the BERT model of a folder as GGUF with eight bits per weight and mean pooling. The result is deterministic. It works in small
 * pieces, so that it neither uses much memory nor blocks the event loop.
 * @throws Error that names what the folder lacks
 */
export async function convertBert(
  folder: string,
  output: string,
  name: string,
  signal: AbortSignal,
): Promise<{ bytes: number; sha256: string }> {
  const config = BertConfig.parse(await readJson(join(folder, sourceFiles.config)));
  const { vocab } = Tokenizer.parse(await readJson(join(folder, sourceFiles.tokenizer))).model;
  const file = await open(join(folder, sourceFiles.weights));
  try {
    const weights = await readWeights(file, signal);
    return await writeGguf(output, headerOf(config, vocab, name), [...tensorsOf(config, weights)]);
  } finally {
    await file.close();
  }
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

/** Safetensors format: the length of a JSON header in eight bytes, the header, the data. */
async function readWeights(file: FileHandle, signal: AbortSignal): Promise<Weights> {
  const length = Number((await readAt(file, 0, 8)).readBigUInt64LE(0));
  if (length > 10_000_000) throw new Error("The weights do not begin with a header.");
  const entries = z.record(z.string(), z.unknown()).parse(JSON.parse((await readAt(file, 8, length)).toString("utf8")));
  const entry = (name: string) => {
    const key = [name, `bert.${name}`].find((candidate) => Object.hasOwn(entries, candidate));
    if (key === undefined) throw new Error(`The weights lack ${name}.`);
    return Entry.parse(entries[key]);
  };
  return {
    shape: (name) => entry(name).shape,
    async *pieces(name) {
      const { dtype, shape, data_offsets: offsets } = entry(name);
      const width = dtype === "F16" ? 2 : 4;
      const count = shape.reduce((product, size) => product * size, 1);
      if (offsets[1] - offsets[0] !== count * width) throw new Error(`${name} has a different size than its header says.`);
      for (let at = 0; at < count; at += pieceValues) {
        signal.throwIfAborted();
        const values = new Float32Array(Math.min(pieceValues, count - at));
        const bytes = await readAt(file, 8 + length + offsets[0] + at * width, values.length * width);
        for (let index = 0; index < values.length; index++)
          values[index] = width === 2 ? halfToNumber(bytes.readUInt16LE(index * 2)) : bytes.readFloatLE(index * 4);
        yield values;
      }
    },
  };
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead !== length) throw new Error("The weights end too early.");
  return buffer;
}

function* tensorsOf(config: z.infer<typeof BertConfig>, weights: Weights): Generator<GgufTensor> {
  const take = (name: string, from: string, exact = false): GgufTensor => {
    const shape = weights.shape(from);
    // Biases, norms and positions are few and stay exact.
    const kind = exact || shape.length === 1 ? "f32" : "q8_0";
    return {
      name,
      shape: shape.toReversed(),
      kind,
      async *data() {
        for await (const values of weights.pieces(from)) yield kind === "f32" ? new Uint8Array(values.buffer) : quantize(values);
      },
    };
  };
  yield take("token_embd.weight", "embeddings.word_embeddings.weight");
  yield take("position_embd.weight", "embeddings.position_embeddings.weight", true);
  yield take("token_types.weight", "embeddings.token_type_embeddings.weight", true);
  yield take("token_embd_norm.weight", "embeddings.LayerNorm.weight");
  yield take("token_embd_norm.bias", "embeddings.LayerNorm.bias");
  for (let layer = 0; layer < config.num_hidden_layers; layer++)
    for (const [theirs, ours] of layerParts)
      for (const part of ["weight", "bias"]) yield take(`blk.${layer}.${ours}.${part}`, `encoder.layer.${layer}.${theirs}.${part}`);
}

function headerOf(config: z.infer<typeof BertConfig>, vocab: Readonly<Record<string, number>>, name: string): Record<string, GgufValue> {
  const tokens = Object.entries(vocab)
    .toSorted((one, other) => one[1] - other[1])
    .map(([token]) => token);
  const control = new Set(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
  const id = (token: string) => ({ u32: vocab[token] ?? 0 });
  return {
    "general.architecture": { text: "bert" },
    "general.name": { text: name },
    "general.file_type": { u32: 7 },
    "bert.block_count": { u32: config.num_hidden_layers },
    "bert.context_length": { u32: config.max_position_embeddings },
    "bert.embedding_length": { u32: config.hidden_size },
    "bert.feed_forward_length": { u32: config.intermediate_size },
    "bert.attention.head_count": { u32: config.num_attention_heads },
    "bert.attention.layer_norm_epsilon": { f32: config.layer_norm_eps },
    "bert.attention.causal": { bool: false },
    // Mean over all tokens.
    "bert.pooling_type": { u32: 1 },
    "tokenizer.ggml.model": { text: "bert" },
    "tokenizer.ggml.pre": { text: "jina-v2-en" },
    "tokenizer.ggml.token_type_count": { u32: config.type_vocab_size },
    "tokenizer.ggml.tokens": { texts: tokens.map(inTheLayoutOfLlama) },
    "tokenizer.ggml.token_type": { i32s: tokens.map((token) => (control.has(token) ? 3 : 1)) },
    "tokenizer.ggml.bos_token_id": id("[CLS]"),
    "tokenizer.ggml.eos_token_id": id("[SEP]"),
    "tokenizer.ggml.unknown_token_id": id("[UNK]"),
    // The format spells it this way.
    "tokenizer.ggml.seperator_token_id": id("[SEP]"),
    "tokenizer.ggml.padding_token_id": id("[PAD]"),
    "tokenizer.ggml.cls_token_id": id("[CLS]"),
    "tokenizer.ggml.mask_token_id": id("[MASK]"),
  };
}

/** WordPiece marks continuations of a word; llama.cpp marks beginnings. */
function inTheLayoutOfLlama(token: string): string {
  if (token.startsWith("[") && token.endsWith("]")) return token;
  return token.startsWith("##") ? token.slice(2) : `\u2581${token}`;
}
