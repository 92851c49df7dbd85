// Entry of the embedding process: the small model of the intent lane. Beside the one that writes, so that it answers while that one works.
import { Socket } from "node:net";
import { pathToFileURL } from "node:url";
import { readMessages, writeMessage } from "./json-lines.ts";
import { type FromEmbedding, ToEmbedding } from "./embedding-protocol.ts";

/** What is used of node-llama-cpp here; see llama.ts. */
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

/** Tokens of a text that count: the model was trained on no more. */
const longest = 256;

const pipe = new Socket({ fd: 3 });
let loaded: { model: Model; context: Context } | undefined;
let queue: Promise<void> = Promise.resolve();

function send(message: FromEmbedding): void {
  writeMessage(pipe, message);
}

async function load(message: Extract<ToEmbedding, { type: "load" }>): Promise<void> {
  const module: Runtime = await import(pathToFileURL(message.runtime).href);
  const llama = await module.getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
    maxThreads: message.threads,
    logLevel: "error",
    logger: (_level, text) => process.stderr.write(text),
  });
  const model = await llama.loadModel({ modelPath: message.model, gpuLayers: 0 });
  const context = await model.createEmbeddingContext({ contextSize: longest + 8, batchSize: longest + 8, threads: message.threads });
  loaded = { model, context };
  send({ type: "loaded" });
}

async function embed({ id, text }: Extract<ToEmbedding, { type: "embed" }>): Promise<void> {
  if (loaded === undefined) throw new Error("no model is loaded");
  const input = loaded.model.tokenize(text).slice(0, longest - 2);
  if (input.length === 0) throw new Error("there are no words in the text");
  const { vector } = await loaded.context.getEmbeddingFor(input);
  // Of length one, so that products are cosines.
  const length = Math.hypot(...vector);
  const floats = Float32Array.from(vector, (value) => value / length);
  send({ type: "vector", id, vector: Buffer.from(floats.buffer).toString("base64"), tokens: input.length });
}

readMessages(
  pipe,
  (raw) => {
    const message = ToEmbedding.parse(raw);
    const id = message.type === "embed" ? message.id : null;
    queue = queue
      .then(() => (message.type === "load" ? load(message) : embed(message)))
      .catch((error: unknown) => send({ type: "failed", id, message: error instanceof Error ? error.message : String(error) }));
  },
  () => process.exit(1),
);

// The host has gone, in whatever way: nobody is left to answer, and native code may be in the middle of a computation.
pipe.on("close", () => process.kill(process.pid, "SIGKILL"));
