import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import * as yaml from "yaml";
import * as z from "zod";

/** What the owner says about the local model, in the environment and in models.yaml. */
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

const Numbers = z.object({
  LOCAL_MODEL_CTX: z.coerce.number().int().min(512).max(1_000_000).optional(),
  LOCAL_MODEL_THREADS: z.coerce.number().int().min(1).max(1_024).optional(),
  LOCAL_MODEL_GPU_LAYERS: z.coerce.number().int().min(0).max(10_000).optional(),
});

/** The part of models.yaml that is this room's; the rest is checked where it is used. */
const ModelsFile = z.object({ local: z.object({ enabled: z.boolean().optional(), model: z.string().optional() }).optional() });

/** Reads the settings anew, so that a change of the owner's file counts from the next request on. */
export function readSettings(configDir: string, dataDir: string, env: Readonly<Record<string, string | undefined>>): LocalSettings {
  const shipped = localPart(join(configDir, "models.yaml"));
  const own = localPart(join(dataDir, "config", "models.yaml"));
  const model = env["LANCELOT_LOCAL_MODEL"] || own.model || shipped.model || "auto";
  const named = Object.fromEntries(Object.keys(Numbers.shape).flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const numbers = Numbers.safeParse(named);
  const wrong = numbers.success ? [] : numbers.error.issues.map((issue) => `${issue.path.join(".")} (${issue.message})`);
  return {
    enabled: own.enabled ?? shipped.enabled ?? true,
    ownModel: model === "auto" ? null : resolve(dataDir, model),
    contextSize: numbers.data?.LOCAL_MODEL_CTX ?? null,
    // One core stays for the editor; more threads than cores bring generation to a halt.
    threads: numbers.data?.LOCAL_MODEL_THREADS ?? Math.max(1, availableParallelism() - 1),
    gpuLayers: numbers.data?.LOCAL_MODEL_GPU_LAYERS ?? null,
    problem: wrong.length === 0 ? null : `The environment has a value that cannot be used: ${wrong.join(", ")}.`,
  };
}

function localPart(file: string): { enabled?: boolean | undefined; model?: string | undefined } {
  if (!existsSync(file)) return {};
  try {
    return ModelsFile.parse(yaml.parse(readFileSync(file, "utf8"))).local ?? {};
  } catch {
    // The models room reads the whole file and says what is wrong with it.
    return {};
  }
}
