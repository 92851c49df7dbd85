import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LancelotError } from "../../contract/errors.ts";
import type { Fetch } from "./download.ts";
import { createEmbedder, type Embedder, type EmbedderDeps } from "./embedding.ts";
import { registryOf } from "./npm-registry.ts";

export interface IntentLane {
  embedder: Embedder;
  /** Downloads its model. A failure appears in its state and fails nothing else, since rules are the fallback. */
  download(): Promise<void>;
  cancel(): void;
  close(): Promise<void>;
}

/** The intent classifier's model as part of the local model: downloaded with it and run beside it. */
export function createIntentLane(
  deps: Omit<EmbedderDeps, "entry"> & { distDir: string | null; fetch: Fetch; retryMs: number | undefined },
): IntentLane {
  const { distDir, env, fetch, retryMs } = deps;
  const entry =
    distDir === null ? fileURLToPath(new URL("./embedding-worker.ts", import.meta.url)) : join(distDir, "host", "local-embedding.js");
  const embedder = createEmbedder({ ...deps, entry, ...(retryMs !== undefined && { backoffMs: retryMs }) });
  let running: AbortController | undefined;
  return {
    embedder,
    async download() {
      if (embedder.missingBytes() === 0) return;
      const abort = new AbortController();
      running = abort;
      try {
        const retry = retryMs === undefined ? {} : { retryMs };
        await embedder.install(registryOf(env), { signal: abort.signal, fetch, onProgress: () => undefined, ...retry });
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
      } finally {
        running = undefined;
      }
    },
    cancel() {
      running?.abort();
    },
    async close() {
      running?.abort();
      await embedder.close();
    },
  };
}
