import * as z from "zod";
import type { LocalServer } from "../../contract/models.ts";
import type { Ask } from "./server-request.ts";

type Kind = LocalServer["kind"];
type Models = LocalServer["models"];

export const displayNames: Record<Kind, string> = {
  ollama: "Ollama",
  "llama-server": "llama-server",
  "lm-studio": "LM Studio",
  vllm: "vLLM",
  other: "Model server",
};

/** The list that all of them provide; each has its own field for the context window. */
export const ModelList = z.object({
  data: z.array(
    z.object({
      id: z.string().min(1),
      owned_by: z.string().nullish(),
      /** vLLM. */
      max_model_len: z.int().positive().nullish(),
      /** llama-server. */
      meta: z.looseObject({ n_ctx: z.int().positive().nullish(), n_ctx_train: z.int().positive().nullish() }).nullish(),
    }),
  ),
});
export type ModelList = z.infer<typeof ModelList>;

const OllamaTags = z.object({ models: z.array(z.object({ name: z.string(), details: z.unknown().optional() })) });
const OllamaModel = z.object({
  model_info: z.record(z.string(), z.unknown()).optional(),
  /** Lines such as `num_ctx 8192`, where the user configured one. */
  parameters: z.string().optional(),
});
const LlamaProps = z.object({
  default_generation_settings: z.object({ n_ctx: z.int().positive() }),
  model_path: z.string().optional(),
});
const LmStudioModels = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      type: z.string().optional(),
      max_context_length: z.int().positive().nullish(),
      loaded_context_length: z.int().positive().nullish(),
    }),
  ),
});
const VllmVersion = z.object({ version: z.string() });

/** Number of Ollama models whose context window is requested, one request each. */
const asked = 20;
/** Ollama's default context size (tokens). */
const ollamaWindow = 4_096;

/**
 * Detects the kind of a server and its models by its specific endpoints. `ask` reaches this server only and returns null for anything but JSON
 * of the requested shape.
 */
export async function recognise(ask: Ask, list: ModelList): Promise<{ kind: Kind; models: Models }> {
  const [tags, props, studio, version] = await Promise.all([
    ask("/api/tags", OllamaTags),
    ask("/props", LlamaProps),
    ask("/api/v0/models", LmStudioModels),
    ask("/version", VllmVersion),
  ]);
  if (tags !== null && !list.data.some(({ meta }) => meta)) return { kind: "ollama", models: await ollamaModels(ask, tags.models) };
  if (props !== null) {
    const window = props.default_generation_settings.n_ctx;
    return { kind: "llama-server", models: list.data.map(({ id }) => ({ model: id, contextWindow: window })) };
  }
  if (studio !== null) {
    const chat = studio.data.filter(({ type }) => type !== "embeddings");
    return {
      kind: "lm-studio",
      models: chat.map((one) => ({ model: one.id, contextWindow: one.loaded_context_length ?? one.max_context_length ?? null })),
    };
  }
  const models = list.data.map(({ id, max_model_len, meta }) => ({
    model: id,
    contextWindow: max_model_len ?? meta?.n_ctx ?? meta?.n_ctx_train ?? null,
  }));
  const isVllm =
    version !== null && list.data.some(({ owned_by, max_model_len }) => owned_by === "vllm" || typeof max_model_len === "number");
  return { kind: isVllm ? "vllm" : "other", models };
}

async function ollamaModels(ask: Ask, models: { name: string }[]): Promise<Models> {
  return Promise.all(
    models.map(async ({ name }, index) => {
      const about = index < asked ? await ask("/api/show", OllamaModel, { model: name }) : null;
      return { model: name, contextWindow: about === null ? null : ollamaContext(about) };
    }),
  );
}

/** Ollama truncates longer prompts silently, so its configured context counts, not the model's maximum. */
function ollamaContext({ model_info: info = {}, parameters = "" }: z.infer<typeof OllamaModel>): number | null {
  const set = Number(/^num_ctx\s+(\d+)/m.exec(parameters)?.[1] ?? Number.NaN);
  if (Number.isInteger(set)) return set;
  const entry = Object.entries(info).find(([key]) => key.endsWith(".context_length"));
  const trained = typeof entry?.[1] === "number" ? entry[1] : null;
  return trained === null ? null : Math.min(trained, ollamaWindow);
}
