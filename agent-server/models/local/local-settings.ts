import { resolve } from "node:path";
import * as z from "zod";
import { createConfigFile } from "../models-config.ts";
import { measuredCores } from "./cpu-cores.ts";

/** The user's settings of the local model. The environment overrides models.yaml. */
export interface LocalSettings {
  enabled: boolean;
  /** Absolute path of the user's own .gguf file; null for one of the catalog. */
  ownModel: string | null;
  /** Tokens; null for the model's default. */
  contextSize: number | null;
  threads: number;
  /** Null: the runtime chooses. */
  gpuLayers: number | null;
  /** The problem with the settings; null when they are valid. */
  problem: string | null;
}

const context = z.coerce.number().int().min(512).max(1_000_000).optional();
const threads = z.coerce.number().int().min(1).max(1_024).optional();
const gpuLayers = z.coerce.number().int().min(0).max(10_000).optional();
const Environment = z.object({ LOCAL_MODEL_CTX: context, LOCAL_MODEL_THREADS: threads, LOCAL_MODEL_GPU_LAYERS: gpuLayers });

/** Reads the settings again when a file changed, so that an edit applies from the next request on. */
export function createSettings(configDir: string, dataDir: string, env: Readonly<Record<string, string | undefined>>): () => LocalSettings {
  const file = createConfigFile({ configDir, dataDir });
  const named = Object.fromEntries(Object.keys(Environment.shape).flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const parsed = Environment.safeParse(named);
  const wrong = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join(".")} (${issue.message})`);
  const numbers = parsed.data ?? {};
  let cores: number | undefined;
  return () => {
    const part = file.read().config.local;
    const model = env["LANCELOT_LOCAL_MODEL"] || part.model;
    // One core stays free for the editor; more threads than cores slow generation down.
    const spare = () => Math.max(1, (cores ??= measuredCores()) - 1);
    return {
      enabled: part.enabled,
      ownModel: model === "auto" ? null : resolve(dataDir, model),
      contextSize: numbers.LOCAL_MODEL_CTX ?? part.context ?? null,
      threads: numbers.LOCAL_MODEL_THREADS ?? part.threads ?? spare(),
      gpuLayers: numbers.LOCAL_MODEL_GPU_LAYERS ?? part.gpu_layers ?? null,
      problem: wrong.length === 0 ? null : `The environment has an invalid value: ${wrong.join(", ")}.`,
    };
  };
}
