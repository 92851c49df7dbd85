import * as z from "zod";
import { Ok } from "./common.ts";
import { method } from "./method.ts";

export const providerKinds = ["gemini", "openai", "anthropic", "xai", "openai_compatible", "vscode", "local"] as const;
export const ProviderKind = z.enum(providerKinds);
export type ProviderKind = z.infer<typeof ProviderKind>;

export const ModelInfo = z.object({
  /** Name in models.yaml. */
  provider: z.string(),
  kind: ProviderKind,
  model: z.string(),
  displayName: z.string(),
  active: z.boolean(),
  /** Context window in tokens, where known. */
  contextWindow: z.int().nullable(),
});
export type ModelInfo = z.infer<typeof ModelInfo>;

export const ProviderState = z.object({
  provider: z.string(),
  kind: ProviderKind,
  displayName: z.string(),
  active: z.boolean(),
  hasKey: z.boolean(),
  /** Why it cannot be used now, with the next step; null when it can. */
  problem: z.string().nullable(),
});
export type ProviderState = z.infer<typeof ProviderState>;

export const LocalModel = z.object({
  status: z.enum(["absent", "downloading", "ready", "loading", "loaded", "failed"]),
  /** File name of the model, without a folder. */
  file: z.string().nullable(),
  name: z.string(),
  license: z.string(),
  /** What to expect of it; absent for a user's own file. */
  note: z.string().optional(),
  /** Total download size (model and runtime) and the bytes already downloaded. */
  totalBytes: z.int(),
  doneBytes: z.int(),
  source: z.enum(["hub", "npm", "owner", "server"]).nullable(),
  problem: z.string().nullable(),
  /** The next step for `problem`; null without one. */
  nextStep: z.string().nullable().optional(),
  /** A stopped or interrupted download, which can be resumed. */
  paused: z.boolean().optional(),
  /** For a loaded model. */
  loaded: z
    .object({
      /** Tokens. */
      contextSize: z.int(),
      threads: z.int(),
      gpuLayers: z.int(),
      /** Memory of the process (bytes); null where the system does not report it. */
      memoryBytes: z.int().nullable(),
      /** Time since its last answer (ms). */
      idleMs: z.int(),
      /** Number of waiting requests. */
      queued: z.int(),
      /** Of the last answer; null before the first. */
      tokensPerSecond: z.number().nullable(),
    })
    .nullable()
    .optional(),
  /** Why this model suits this machine, or what the machine lacks. */
  fit: z.string().optional(),
  /** The embedding model of the intent classifier. */
  intent: z.object({ status: z.enum(["absent", "downloading", "ready", "failed"]), problem: z.string().nullable() }).optional(),
});
export type LocalModel = z.infer<typeof LocalModel>;

/** A model server on this machine. */
export const LocalServer = z.object({
  kind: z.enum(["ollama", "llama-server", "lm-studio", "vllm", "other"]),
  displayName: z.string(),
  /** Address of its OpenAI-compatible API. */
  url: z.string(),
  models: z.array(z.object({ model: z.string(), contextWindow: z.int().nullable() })),
  /** Whether the model supports JSON schemas; null until tested. */
  structured: z.boolean().nullable(),
  /** Its provider name in models.yaml. */
  provider: z.string().nullable(),
  problem: z.string().nullable(),
});
export type LocalServer = z.infer<typeof LocalServer>;

export const modelMethods = {
  "models.list": method({
    summary: "Providers and the models they offer. Queries each provider and lists the unreachable ones with the reason.",
    access: "any",
    params: z.object({ provider: z.string().max(100).optional() }),
    result: z.object({
      items: z.array(ModelInfo),
      providers: z.array(ProviderState),
      /** The problem of the user's config/models.yaml; null without one. */
      problem: z.string().nullable(),
    }),
  }),
  "models.choose": method({
    summary: "Selects the active provider and model in the user's config/models.yaml.",
    access: "owner",
    params: z.object({ provider: z.string().min(1).max(100), model: z.string().min(1).max(300).optional() }),
    result: z.object({ provider: z.string(), model: z.string() }),
  }),
  "models.lint": method({
    summary: "Validates a text for config/models.yaml or config/router.yaml. Nothing is written.",
    access: "any",
    params: z.object({ file: z.enum(["models", "router"]), yaml: z.string().max(1_000_000) }),
    result: z.object({
      /** False: the file would be rejected. */
      valid: z.boolean(),
      /** `line` is 1-based. */
      issues: z.array(z.object({ rule: z.string(), severity: z.enum(["critical", "warning"]), message: z.string(), line: z.int() })),
    }),
  }),
  "models.local": method({
    summary: "State of the embedded local model.",
    access: "any",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.download": method({
    summary:
      "Downloads the local model, its runtime and the intent classifier, or only the last two. Progress is sent as events, and an interrupted download resumes.",
    access: "owner",
    params: z.object({ only: z.literal("intent").optional() }),
    result: LocalModel,
  }),
  "models.local.cancel": method({
    summary: "Stops a running download, which can be resumed.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.load": method({
    summary: "Loads the local model now, so that the first answer is faster.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.unload": method({
    summary: "Unloads the local model and frees its memory; the next request loads it again.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.delete": method({
    summary: "Deletes the downloaded model and unfinished downloads. The user's own files are not affected.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.servers": method({
    summary: "Model servers that run on this machine (Ollama, llama-server, LM Studio, vLLM). Checks again each time.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(LocalServer) }),
  }),
  "models.useServer": method({
    summary: "Adds a discovered server to the user's config/models.yaml and makes it the active provider.",
    access: "owner",
    params: z.object({ url: z.url().max(2000), model: z.string().min(1).max(300) }),
    result: z.object({ provider: z.string(), model: z.string() }),
  }),
  "vault.set": method({
    summary: "Stores a secret.",
    access: "owner",
    params: z.object({
      name: z.string().regex(/^[A-Z][A-Z0-9_]{1,99}$/, "capital letters, digits and underscores"),
      value: z.string().min(1).max(20_000),
    }),
    result: Ok,
  }),
  "vault.delete": method({
    summary: "Deletes a secret.",
    access: "owner",
    params: z.object({ name: z.string().min(1).max(100) }),
    result: Ok,
  }),
  "vault.list": method({
    summary: "Names of the stored secrets, never their values.",
    access: "owner",
    params: z.object({}),
    result: z.object({ items: z.array(z.string()) }),
  }),
};
