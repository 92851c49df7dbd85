import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import * as yaml from "yaml";
import * as z from "zod";
import { measuredCores } from "./cpu-cores.ts";

/** What the owner says about the local model, in the environment and in models.yaml; the environment counts first. */
export interface LocalSettings {
  enabled: boolean;
  /** A .gguf of the owner's, absolute; null for one of the catalog. */
  ownModel: string | null;
  /** Tokens; null for the model's own. */
  contextSize: number | null;
  threads: number;
  /** Null leaves it to the runtime. */
  gpuLayers: number | null;
  /** What is wrong with the settings, in words. */
  problem: string | null;
}

const context = z.coerce.number().int().min(512).max(1_000_000).optional();
const threads = z.coerce.number().int().min(1).max(1_024).optional();
const gpuLayers = z.coerce.number().int().min(0).max(10_000).optional();
const Environment = z.object({ LOCAL_MODEL_CTX: context, LOCAL_MODEL_THREADS: threads, LOCAL_MODEL_GPU_LAYERS: gpuLayers });

/** The part of models.yaml that is this room's; the rest is checked where it is used. */
const LocalPart = z.object({
  enabled: z.boolean().optional(),
  model: z.string().optional(),
  context: context.catch(undefined),
  threads: threads.catch(undefined),
  gpu_layers: gpuLayers.catch(undefined),
});
const ModelsFile = z.object({ local: LocalPart.optional() });
type LocalPart = z.infer<typeof LocalPart>;

/** Reads the settings anew where a file of them changed, so that what the owner writes counts from the next request on. */
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
    // One core stays for the editor; more threads than cores bring generation to a halt.
    const spare = () => Math.max(1, (cores ??= measuredCores()) - 1);
    return {
      enabled: part.enabled ?? true,
      ownModel: model === "auto" ? null : resolve(dataDir, model),
      contextSize: numbers.LOCAL_MODEL_CTX ?? part.context ?? null,
      threads: numbers.LOCAL_MODEL_THREADS ?? part.threads ?? spare(),
      gpuLayers: numbers.LOCAL_MODEL_GPU_LAYERS ?? part.gpu_layers ?? null,
      problem: wrong.length === 0 ? null : `The environment has a value that cannot be used: ${wrong.join(", ")}.`,
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
    const { local = {} } = ModelsFile.parse(yaml.parse(readFileSync(file, "utf8")));
    return Object.fromEntries(Object.entries(local).filter(([, value]) => value !== undefined));
  } catch {
    // The models room reads the whole file and says what is wrong with it.
    return {};
  }
}
