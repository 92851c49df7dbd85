// Entry of the process that holds the embedding model of the intent classifier, beside the generative one so that neither waits.
import { pathToFileURL } from "node:url";
import { LancelotError } from "../../contract/errors.ts";
import {
  type Embed,
  type EmbeddingLoad,
  type EmbeddingLoaded,
  type EmbeddingReply,
  EmbeddingRequestMessage,
} from "./embedding-protocol.ts";
import { serveWorker } from "./worker-pipe.ts";

/** The part of node-llama-cpp used here; see llama.ts. */
interface Runtime {
  getLlama(options: {
    gpu: false;
    build: "never";
    skipDownload: true;
    progressLogs: false;
    maxThreads: number;
    logLevel: "error";
    logger: (level: string, message: string) => void;
  }): Promise<{ loadModel(options: { modelPath: string; gpuLayers: 0 }): Promise<Model> }>;
}
interface Model {
  tokenize(text: string): number[];
  createEmbeddingContext(options: { contextSize: number; batchSize: number; threads: number }): Promise<Context>;
}
interface Context {
  getEmbeddingFor(tokens: number[]): Promise<{ readonly vector: readonly number[] }>;
}

/** Longer texts are truncated: the model was trained on at most 256 tokens. */
const maxTokens = 256;

let loaded: { model: Model; context: Context } | undefined;

serveWorker<EmbeddingLoad, Embed, EmbeddingLoaded, EmbeddingReply>({
  message: EmbeddingRequestMessage,
  async load({ runtime, model: modelPath, threads }) {
    const module: Runtime = await import(pathToFileURL(runtime).href);
    const llama = await module.getLlama({
      gpu: false,
      build: "never",
      skipDownload: true,
      progressLogs: false,
      maxThreads: threads,
      logLevel: "error",
      logger: (_level, text) => process.stderr.write(text),
    });
    const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
    const context = await model.createEmbeddingContext({ contextSize: maxTokens + 8, batchSize: maxTokens + 8, threads });
    loaded = { model, context };
    return { type: "loaded" };
  },
  async handle({ id, text }) {
    if (loaded === undefined) throw new Error("no model is loaded");
    const input = loaded.model.tokenize(text).slice(0, maxTokens - 2);
    if (input.length === 0) throw new LancelotError("unavailable", "The text has no words.");
    const { vector } = await loaded.context.getEmbeddingFor(input);
    // Normalized, so that dot products are cosines.
    const length = Math.hypot(...vector);
    const floats = Float32Array.from(vector, (value) => value / length);
    return { type: "vector", id, vector: Buffer.from(floats.buffer).toString("base64"), tokens: input.length };
  },
});
