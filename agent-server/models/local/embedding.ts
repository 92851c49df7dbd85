import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import type { IntentModel } from "./catalog.ts";
import type { DownloadOptions } from "./download.ts";

import { type Embed, EmbeddingLoaded, type EmbeddingLoad, EmbeddingReply } from "./embedding-protocol.ts";
import { hasIntentModel, installIntentModel } from "./embedding-install.ts";
import type { Verifier } from "./verify.ts";
import { createWorker } from "./worker.ts";

export interface Embedded {
  /** Normalized. */
  vector: Float32Array;
  tokens: number;
}

export interface EmbedderDeps {
  /** From the catalog; undefined where the user's catalog has none. */
  model: IntentModel | undefined;
  /** The models folder. */
  folder: string;
  runtime: { installed(): boolean; entry: string };
  verifier: Verifier;
  /** The file to run. */
  entry: string;
  env: Readonly<Record<string, string | undefined>>;
  threads: () => number;
  /** Called when the state changes. */
  onChange: () => void;
  /** Unload after so long without a request (ms); ten minutes by default. */
  idleMs?: number;
  /** Delay before a restart after a crash; doubles with each in a row (ms); one second by default. */
  backoffMs?: number;
  /** Time limit of an answer, including the start of the process (ms); five seconds by default. The caller has rules to fall back on. */
  timeoutMs?: number;
}

/** The embedding model of the intent classifier: maps texts to vectors, close together for similar meaning (M5). */
export interface Embedder {
  state(): NonNullable<LocalModel["intent"]>;
  /** SHA-256 of the model file; null where there is none. */
  readonly sha256: string | null;
  /** Bytes to download; 0 when it is installed. */
  missingBytes(): number;
  /** @throws LancelotError `cancelled`, or one with a message for the user */
  install(registry: string, options: DownloadOptions): Promise<void>;
  /**
   * The vector of a text; only the first 254 tokens count. Starts the process if necessary.
   * @throws LancelotError `unavailable` without a model, for a while after a crash, and after a timeout; `cancelled`
   */
  embed(text: string, signal: AbortSignal): Promise<Embedded>;
  /** Whether it is loaded and answers within milliseconds; starts to load it otherwise. Does not wait. */
  warm(): boolean;
  pid(): number | undefined;
  remove(): Promise<void>;
  close(): Promise<void>;
}

/** Loading may take long on a busy machine while no request waits for it (ms). */
const warmTimeoutMs = 30_000;

export function createEmbedder(deps: EmbedderDeps): Embedder {
  const { model, folder, runtime, verifier } = deps;
  const path = model === undefined ? null : join(folder, model.file);
  const timeoutMs = deps.timeoutMs ?? 5_000;
  const closing = new AbortController();
  let isWarming = false;
  let installing = false;
  let problem: string | null = null;

  const worker = createWorker<EmbeddingLoad, EmbeddingLoaded, EmbeddingReply, Omit<Embed, "id">>({
    entry: deps.entry,
    env: deps.env,
    load,
    loaded: EmbeddingLoaded,
    reply: EmbeddingReply,
    isLast: () => true,
    exitError: () => unavailable("The intent classifier's process ended unexpectedly. A later request restarts it."),
    loadError: (message) => unavailable(`The intent classifier could not be loaded: ${message}.`),
    idleMs: deps.idleMs ?? 600_000,
    backoffMs: deps.backoffMs ?? 1_000,
    abortMs: timeoutMs,
    onChange(_, error) {
      if (error === null) return;
      problem = `${error.message} Meanwhile, rules classify requests.`;
      deps.onChange();
    },
  });

  const isInstalled = () => model !== undefined && path !== null && hasIntentModel(model, folder) && verifier.verdict(path) !== "wrong";

  function state(): NonNullable<LocalModel["intent"]> {
    if (installing) return { status: "downloading", problem: null };
    if (isInstalled() && runtime.installed()) return { status: "ready", problem };
    if (path !== null && verifier.verdict(path) === "wrong")
      return {
        status: "failed",
        problem: "The intent classifier's model is damaged. Download it again. Meanwhile, rules classify requests.",
      };
    return { status: problem === null ? "absent" : "failed", problem };
  }

  async function load(signal: AbortSignal): Promise<EmbeddingLoad> {
    if (model === undefined || path === null || !isInstalled() || !runtime.installed())
      throw unavailable("The intent classifier's model is not on this machine. Download the local model to install it.");
    if (!(await verifier.verify(path, model.sha256, signal))) {
      deps.onChange();
      throw unavailable("The intent classifier's model is damaged. Download it again.");
    }
    return { type: "load", runtime: runtime.entry, model: path, threads: deps.threads() };
  }

  async function embed(text: string, caller: AbortSignal): Promise<Embedded> {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      // The caller has rules to fall back on, so it does not wait for a restart.
      if (worker.restartDelayMs() > 0) throw unavailable("The intent classifier's process ended unexpectedly and restarts in a moment.");
      for await (const reply of worker.request({ type: "embed", text }, AbortSignal.any([caller, timeout, closing.signal]))) {
        if (problem !== null) {
          problem = null;
          deps.onChange();
        }
        const { buffer, byteOffset, byteLength } = Uint8Array.from(Buffer.from(reply.vector, "base64"));
        return { vector: new Float32Array(buffer, byteOffset, byteLength / 4), tokens: reply.tokens };
      }
      throw unavailable("The intent classifier did not answer.");
    } catch (error) {
      if (caller.aborted || closing.signal.aborted) throw new LancelotError("cancelled", "Stopped.", { cause: error });
      if (!timeout.aborted) throw error;
      throw unavailable("The intent classifier did not answer in time.");
    }
  }

  return {
    state,
    sha256: model?.sha256 ?? null,
    missingBytes: () => (model === undefined || isInstalled() ? 0 : model.source.bytes),
    async install(registry, options) {
      if (model === undefined || path === null || isInstalled()) return;
      installing = true;
      problem = null;
      try {
        // A file that is present now is damaged.
        await rm(path, { force: true });
        await installIntentModel(model, folder, registry, options);
        verifier.remember(path);
      } catch (error) {
        const isCancelled = error instanceof LancelotError && error.code === "cancelled";
        if (!isCancelled)
          problem = error instanceof LancelotError ? error.message : "The intent classifier's model could not be downloaded.";
        throw error;
      } finally {
        installing = false;
        deps.onChange();
      }
    },
    embed,
    warm() {
      if (worker.loaded() !== null) return true;
      // A failure is shown by the state, and the next request reports it.
      if (!isWarming && worker.restartDelayMs() === 0) {
        isWarming = true;
        void worker
          .ready(AbortSignal.any([closing.signal, AbortSignal.timeout(warmTimeoutMs)]))
          .catch(() => undefined)
          .finally(() => {
            isWarming = false;
          });
      }
      return false;
    },
    pid: worker.pid,
    async remove() {
      await worker.unload();
      if (path !== null)
        await Promise.all([path, `${path}.tgz`, `${path}.tgz.part`, `${path}.tgz.part.json`].map((file) => rm(file, { force: true })));
      deps.onChange();
    },
    async close() {
      closing.abort();
      await worker.close();
    },
  };
}

function unavailable(message: string): LancelotError {
  return new LancelotError("unavailable", message);
}
