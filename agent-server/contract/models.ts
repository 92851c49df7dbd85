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
  /** Tokens, where known. */
  contextWindow: z.int().nullable(),
});
export type ModelInfo = z.infer<typeof ModelInfo>;

export const ProviderState = z.object({
  provider: z.string(),
  kind: ProviderKind,
  displayName: z.string(),
  active: z.boolean(),
  hasKey: z.boolean(),
  /** Why it cannot be used now, and what to do; null when it can. */
  problem: z.string().nullable(),
});
export type ProviderState = z.infer<typeof ProviderState>;

export const LocalModel = z.object({
  status: z.enum(["absent", "downloading", "ready", "loading", "loaded", "failed"]),
  /** File name of the model, no folder. */
  file: z.string().nullable(),
  name: z.string(),
  license: z.string(),
  /** What to expect of it, in plain words; absent for an owner's own file. */
  note: z.string().optional(),
  /** Bytes to fetch in all (model and runtime) and those already here. */
  totalBytes: z.int(),
  doneBytes: z.int(),
  source: z.enum(["hub", "npm", "owner", "server"]).nullable(),
  problem: z.string().nullable(),
  /** What to do about `problem`; null when there is nothing. */
  nextStep: z.string().nullable().optional(),
  /** A download that was stopped, or cut off, and goes on where it was. */
  paused: z.boolean().optional(),
  /** Of a loaded model. */
  loaded: z
    .object({
      /** Tokens. */
      contextSize: z.int(),
      threads: z.int(),
      gpuLayers: z.int(),
      /** Bytes the process holds; null where the system does not tell. */
      memoryBytes: z.int().nullable(),
      /** Milliseconds since it last answered. */
      idleMs: z.int(),
      /** Requests that wait. */
      queued: z.int(),
      /** Of the last answer; null before the first. */
      tokensPerSecond: z.number().nullable(),
    })
    .nullable()
    .optional(),
  /** Why this model fits this machine, or what it lacks, in plain words. */
  fit: z.string().optional(),
  /** The small embedding model of the intent lane. */
  intent: z.object({ status: z.enum(["absent", "downloading", "ready", "failed"]), problem: z.string().nullable() }).optional(),
});
export type LocalModel = z.infer<typeof LocalModel>;

/** A model server that was found on this machine. */
export const LocalServer = z.object({
  kind: z.enum(["ollama", "llama-server", "lm-studio", "vllm", "other"]),
  displayName: z.string(),
  /** Address of its OpenAI-compatible API. */
  url: z.string(),
  models: z.array(z.object({ model: z.string(), contextWindow: z.int().nullable() })),
  /** Answers in a JSON schema were tried and held; null until tried. */
  structured: z.boolean().nullable(),
  /** It is the provider in models.yaml with this name. */
  provider: z.string().nullable(),
  problem: z.string().nullable(),
});
export type LocalServer = z.infer<typeof LocalServer>;

export const modelMethods = {
  "models.list": method({
    summary: "Providers and the models they offer. Asks each reachable provider; one that does not answer is named with the reason.",
    access: "any",
    params: z.object({ provider: z.string().max(100).optional() }),
    result: z.object({
      items: z.array(ModelInfo),
      providers: z.array(ProviderState),
      /** What is wrong with the owner's config/models.yaml; null when nothing is. */
      problem: z.string().nullable(),
    }),
  }),
  "models.choose": method({
    summary: "Makes a provider and model the active ones, in the owner's config/models.yaml.",
    access: "owner",
    params: z.object({ provider: z.string().min(1).max(100), model: z.string().min(1).max(300).optional() }),
    result: z.object({ provider: z.string(), model: z.string() }),
  }),
  "models.lint": method({
    summary: "What is wrong with a text for config/models.yaml or config/router.yaml, as it would be read. Nothing is written.",
    access: "any",
    params: z.object({ file: z.enum(["models", "router"]), yaml: z.string().max(1_000_000) }),
    result: z.object({
      /** False: the file would have no effect. */
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
      "Fetches the local model, its runtime and the small model of the intent lane, or the last two alone; progress comes as events. A download cut short goes on where it stopped.",
    access: "owner",
    params: z.object({ only: z.literal("intent").optional() }),
    result: LocalModel,
  }),
  "models.local.cancel": method({
    summary: "Stops a running download and keeps what is here for the next try.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.load": method({
    summary: "Loads the local model now, so that its first answer comes sooner.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.unload": method({
    summary: "Ends the local model's process and gives its memory back; the next request loads it again.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.local.delete": method({
    summary: "Deletes the downloaded model, and what is here of one that was not finished. A file of the owner's is not touched.",
    access: "owner",
    params: z.object({}),
    result: LocalModel,
  }),
  "models.servers": method({
    summary: "Model servers that answer on this machine (Ollama, llama-server, LM Studio, vLLM). Looks anew each time.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(LocalServer) }),
  }),
  "models.useServer": method({
    summary: "Writes a server that was found into the owner's config/models.yaml and makes it the active provider.",
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
