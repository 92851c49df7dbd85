import { exitError, loadError } from "./exit-errors.ts";
import { type Generate, GenerateReply, Loaded, type Load } from "./model-protocol.ts";
import { createWorker, type Worker, type WorkerDeps } from "./worker.ts";

export interface ModelProcessDeps
  extends Pick<
    WorkerDeps<Load, Loaded, GenerateReply>,
    "entry" | "env" | "load" | "idleMs" | "backoffMs" | "watch" | "maxQueued" | "onChange"
  > {
  /** Called after every complete answer. */
  onAnswer?: () => void;
}

export interface ProcessHealth {
  contextSize: number;
  threads: number;
  gpuLayers: number;
  gpu: Loaded["gpu"];
  memoryBytes: number;
  idleMs: number;
  queued: number;
  /** Of the last answer. */
  tokensPerSecond: number | null;
}

/** The process of the generative model. */
export interface ModelProcess extends Pick<Worker<Load, Loaded, unknown, GenerateReply>, "ready" | "pid" | "unload" | "close"> {
  /** Waits for its turn, then streams. Ends with `done`. @throws LancelotError, `data.retryable` after a crash */
  generate(request: Omit<Generate, "type" | "id">, signal: AbortSignal): AsyncGenerator<GenerateReply, void>;
  /** Null while nothing is loaded. */
  health(): ProcessHealth | null;
}

/** A prompt is evaluated in steps of a second or two, and a reply stops between them (ms). */
const abortMs = 15_000;

export function createModelProcess(deps: ModelProcessDeps): ModelProcess {
  let tokensPerSecond: number | null = null;
  let memoryBytes = 0;
  const worker = createWorker<Load, Loaded, GenerateReply, Omit<Generate, "id">>({
    ...deps,
    loaded: Loaded,
    reply: GenerateReply,
    isLast: (reply) => reply.type === "done",
    exitError,
    loadError,
    abortMs,
    onChange(state, error) {
      const report = worker.loaded()?.report;
      if (state === "loaded" && report !== undefined) {
        ({ memoryBytes } = report);
        tokensPerSecond = null;
      }
      deps.onChange(state, error);
    },
  });
  return {
    ready: worker.ready,
    pid: worker.pid,
    unload: worker.unload,
    close: worker.close,
    async *generate(request, signal) {
      for await (const reply of worker.request({ type: "generate", ...request }, signal)) {
        if (reply.type === "done") {
          ({ memoryBytes } = reply);
          const { outputTokens, generateMs } = reply;
          if (outputTokens > 1 && generateMs > 0) tokensPerSecond = ((outputTokens - 1) * 1_000) / generateMs;
          deps.onAnswer?.();
        }
        yield reply;
      }
    },
    health() {
      const loaded = worker.loaded();
      if (loaded === null) return null;
      const { load, report } = loaded;
      const { contextSize, gpuLayers, gpu } = report;
      return {
        contextSize,
        threads: load.threads,
        gpuLayers,
        gpu,
        memoryBytes,
        idleMs: worker.idleMs(),
        queued: worker.queued(),
        tokensPerSecond,
      };
    },
  };
}
