import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import { createLocal } from "./local.ts";
import type { Local, LocalDeps } from "./types.ts";
import type { ModelEvent } from "../request.ts";

/** Starts the embedded model. When its own files are broken, everything else keeps working and its state shows the problem. */
export function startLocal(create: typeof createLocal, deps: LocalDeps): Local {
  try {
    return create(deps);
  } catch (cause) {
    const error =
      cause instanceof LancelotError
        ? cause
        : new LancelotError("unavailable", "The local model cannot be used. See the log (*Lancelot: Show Log*).", { cause });
    const state: LocalModel = {
      status: "failed",
      file: null,
      name: "",
      license: "",
      totalBytes: 0,
      doneBytes: 0,
      source: null,
      problem: error.message,
    };
    const fails = (): Promise<never> => Promise.reject(error);
    return {
      provider: { stream: () => failed(error), listModels: fails },
      state: () => state,
      download: fails,
      cancelDownload: () => state,
      load: fails,
      unload: () => Promise.resolve(state),
      remove: fails,
      degraded: () => error.message,
      catalogProblem: () => null,
      isLoaded: () => false,
      model: fails,
      embedder: {
        sha256: null,
        state: () => ({ status: "failed", problem: error.message }),
        missingBytes: () => 0,
        install: fails,
        embed: fails,
        warm: () => false,
        pid: () => undefined,
        remove: fails,
        close: () => Promise.resolve(),
      },
      taskModel: () => null,
      pid: () => undefined,
      close: () => Promise.resolve(),
    };
  }
}

// oxlint-disable-next-line require-yield -- a stream that fails before its first event
async function* failed(error: LancelotError): AsyncGenerator<ModelEvent> {
  throw error;
}
