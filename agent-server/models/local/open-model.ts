import { pathToFileURL } from "node:url";
import type { Llama, LlamaModel, LlamaModule } from "./llama.ts";
import type { Load, Loaded } from "./model-protocol.ts";

/** A model in this process's memory. */
export interface OpenedModel {
  module: LlamaModule;
  llama: Llama;
  model: LlamaModel;
  gpu: Loaded["gpu"];
}

/** @throws Error of the library when the runtime or model cannot be loaded */
export async function openModel(load: Load): Promise<OpenedModel> {
  const module: LlamaModule = await import(pathToFileURL(load.runtime).href);
  const llama = await module.getLlama({
    gpu: load.gpu ? "auto" : false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
    // The runtime's default of at least four threads overloads small machines.
    maxThreads: load.threads,
    logLevel: "error",
    logger: (_level, message) => process.stderr.write(message),
  });
  const model = await llama.loadModel({
    modelPath: load.model,
    useMmap: true,
    ...(load.gpu ? { gpuLayers: load.gpuLayers ?? "auto" } : { gpuLayers: 0 }),
  });
  const gpu = llama.gpu === false ? null : { name: llama.gpu, bytes: (await llama.getVramState()).total };
  return { module, llama, model, gpu };
}
