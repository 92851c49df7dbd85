import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openCatalog } from "../../../agent-server/models/local/catalog.ts";
import { createFetch } from "../../../agent-server/models/local/download.ts";
import { createEmbedder, type Embedder, type EmbedderDeps } from "../../../agent-server/models/local/embedding.ts";
import { registryOf } from "../../../agent-server/models/local/npm-registry.ts";
import { createRuntime } from "../../../agent-server/models/local/runtime.ts";
import { createVerifier } from "../../../agent-server/models/local/verify.ts";
import { localDataDir } from "./local-models.ts";

const configDir = fileURLToPath(new URL("../../../config", import.meta.url));

/** The embedding model over the cached data folder, or another. */
export function openEmbedder(over: Partial<EmbedderDeps> = {}): Embedder {
  const folder = join(localDataDir, "models");
  return createEmbedder({
    model: openCatalog(configDir, localDataDir).catalog.intent,
    folder,
    runtime: createRuntime(configDir, localDataDir),
    verifier: createVerifier(over.folder ?? folder),
    entry: fileURLToPath(new URL("../../../agent-server/models/local/embedding-worker.ts", import.meta.url)),
    env: process.env,
    threads: () => Math.max(1, availableParallelism() - 1),
    // A machine at work may take longer than a person would wait.
    timeoutMs: 60_000,
    onChange: () => undefined,
    ...over,
  });
}

/**
 * Puts runtime and embedding model in the cache, by the product's own download.
 * @returns why it cannot be had, or null. Under `CI=true` that is thrown instead: there it must be had.
 */
export async function prepareIntentModel(): Promise<string | null> {
  const network = createFetch(process.env);
  const options = { signal: AbortSignal.timeout(300_000), fetch: network.fetch, onProgress: () => undefined };
  const registry = registryOf(process.env);
  const embedder = openEmbedder();
  try {
    await createRuntime(configDir, localDataDir).install(registry, options);
    await embedder.install(registry, options);
    return null;
  } catch (error) {
    if (process.env["CI"] === "true" || !(error instanceof Error)) throw error;
    console.warn(`The intent lane cannot be tested with its real model here: ${error.message}`);
    return error.message;
  } finally {
    await embedder.close();
    await network.close();
  }
}
