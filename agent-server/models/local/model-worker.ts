// Entry of the process that holds the generative model, so that its crash does not end the host.
import { createEngine, type Engine } from "./engine.ts";
import { type Generate, type GenerateReply, type Load, type Loaded, ModelRequestMessage } from "./model-protocol.ts";
import { openModel } from "./open-model.ts";
import { createTextSender } from "./text-sender.ts";
import { serveWorker } from "./worker-pipe.ts";

let engine: Engine | undefined;

/** Bytes of this process, including the model's pages. */
const memoryBytes = (): number => process.memoryUsage.rss();

serveWorker<Load, Generate, Loaded, GenerateReply>({
  message: ModelRequestMessage,
  async load(message) {
    const opened = await openModel(message);
    engine = await createEngine(opened, message);
    const { contextSize } = engine;
    return { type: "loaded", contextSize, gpuLayers: opened.model.gpuLayers, gpu: opened.gpu, memoryBytes: memoryBytes() };
  },
  async handle(request, signal, send) {
    const { id } = request;
    if (engine === undefined) throw new Error("no model is loaded");
    const sender = createTextSender((text) => send({ type: "text", id, text }));
    try {
      const result = await engine.generate(request, signal, sender.push);
      sender.end();
      return { type: "done", id, ...result, memoryBytes: memoryBytes() };
    } finally {
      sender.end();
    }
  },
});
