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
  /** Of length one. */
  vector: Float32Array;
  tokens: number;
}

export interface EmbedderDeps {
  /** Of the catalog; undefined where an owner's names none. */
  model: IntentModel | undefined;
  /** Where models lie. */
  folder: string;
  runtime: { installed(): boolean; entry: string };
  verifier: Verifier;
  /** File to run. */
  entry: string;
  env: Readonly<Record<string, string | undefined>>;
  threads: () => number;
  /** A change of the state. */
  onChange: () => void;
  /** Unload after so long without a request. Milliseconds; ten minutes unless said. */
  idleMs?: number;
  /** After a crash nothing is started for so long; doubles with each in a row. Milliseconds; a second unless said. */
  backoffMs?: number;
  /** How long an answer may take, the start of the process among it; what asks has rules to go on with. Milliseconds; five seconds unless said. */
  timeoutMs?: number;
}

/** The embedding model of the intent lane: texts as points, near each other where they mean the same (M5). */
export interface Embedder {
  state(): NonNullable<LocalModel["intent"]>;
  /** SHA-256 of the model's file; null where there is none. */
  readonly sha256: string | null;
  /** Bytes to fetch; 0 when it is here. */
  missingBytes(): number;
  /** @throws LancelotError worded for the owner, `cancelled`. */
  install(registry: string, options: DownloadOptions): Promise<void>;
  /**
   * The vector of a text; of a long one only the beginning counts (254 tokens). Starts the process if need be.
   * @throws LancelotError `unavailable` without a model, for a while after a crash, and when it takes too long; `cancelled`.
   */
  embed(text: string, signal: AbortSignal): Promise<Embedded>;
  /** Whether it is in memory and answers within milliseconds; begins to load it where it is not. Waits for nothing. */
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
      problem = `${error.message} Until then, rules decide.`;
      deps.onChange();
    },
  });

  const isInstalled = () => model !== undefined && path !== null && hasIntentModel(model, folder) && verifier.verdict(path) !== "wrong";

  function state(): NonNullable<LocalModel["intent"]> {
    if (installing) return { status: "downloading", problem: null };
    if (isInstalled() && runtime.installed()) return { status: "ready", problem };
    if (path !== null && verifier.verdict(path) === "wrong")
      return { status: "failed", problem: "The intent classifier's model is damaged. Download it again; until then, rules decide." };
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

  async function embed(text: string, caller: AbortSignal, limitMs = timeoutMs): Promise<Embedded> {
    const timeout = AbortSignal.timeout(limitMs);
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
    embed: (text, signal) => embed(text, signal),
    warm() {
      if (worker.loaded() !== null) return true;
      // A failure is shown by the state, and the next request reports it.
      if (!isWarming) {
        isWarming = true;
        void embed("warm", closing.signal, warmTimeoutMs)
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
