import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { measuredCores } from "./cpu-cores.ts";
import { parseShipped } from "../../shipped-yaml.ts";

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

/** The part of models.yaml for the local model; the rest is validated elsewhere. */
const LocalPart = z.object({
  enabled: z.boolean().optional(),
  model: z.string().optional(),
  context: context.catch(undefined),
  threads: threads.catch(undefined),
  gpu_layers: gpuLayers.catch(undefined),
});
const ModelsFile = z.object({ local: LocalPart.optional() });
type LocalPart = z.infer<typeof LocalPart>;

/** Reads the settings again when a file changed, so that an edit applies from the next request on. */
export function createSettings(configDir: string, dataDir: string, env: Readonly<Record<string, string | undefined>>): () => LocalSettings {
  const shipped = createReader(join(configDir, "models.yaml"));
  const owners = createReader(join(dataDir, "config", "models.yaml"));
  const named = Object.fromEntries(Object.keys(Environment.shape).flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const parsed = Environment.safeParse(named);
  const wrong = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join(".")} (${issue.message})`);
  const numbers = parsed.data ?? {};
  let cores: number | undefined;
  return () => {
    const part: LocalPart = { ...shipped(), ...owners() };
    const model = env["LANCELOT_LOCAL_MODEL"] || part.model || "auto";
    // One core stays free for the editor; more threads than cores slow generation down.
    const spare = () => Math.max(1, (cores ??= measuredCores()) - 1);
    return {
      enabled: part.enabled ?? true,
      ownModel: model === "auto" ? null : resolve(dataDir, model),
      contextSize: numbers.LOCAL_MODEL_CTX ?? part.context ?? null,
      threads: numbers.LOCAL_MODEL_THREADS ?? part.threads ?? spare(),
      gpuLayers: numbers.LOCAL_MODEL_GPU_LAYERS ?? part.gpu_layers ?? null,
      problem: wrong.length === 0 ? null : `The environment has an invalid value: ${wrong.join(", ")}.`,
    };
  };
}

function createReader(file: string): () => LocalPart {
  let stamp = "";
  let part: LocalPart = {};
  return () => {
    const found = statSync(file, { throwIfNoEntry: false });
    const now = found === undefined ? "" : `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (now !== stamp) {
      stamp = now;
      part = found === undefined ? {} : localPart(file);
    }
    return part;
  };
}

function localPart(file: string): LocalPart {
  try {
    const { local = {} } = ModelsFile.parse(parseShipped(readFileSync(file, "utf8"), 100).value);
    return Object.fromEntries(Object.entries(local).filter(([, value]) => value !== undefined));
  } catch {
    // models-config.ts reads the whole file and reports its problems.
    return {};
  }
}
