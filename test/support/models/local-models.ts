import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createFetch } from "../../../agent-server/models/local/download.ts";
import { createLocal } from "../../../agent-server/models/local/local.ts";
import type { Local, LocalDeps } from "../../../agent-server/models/local/types.ts";
import { writeTinyModel } from "./tiny-model.ts";

const configDir = fileURLToPath(new URL("../../../config", import.meta.url));

/** The data folder that keeps runtime and model between runs, outside the repository. */
export const localDataDir = join(process.env["LANCELOT_TEST_CACHE"] ?? join(homedir(), ".cache", "lancelot-test"), "local-model");

/** The local model over the cached data folder. The hub counts as out of reach, so that the same small model is tested everywhere. */
export function openLocal(over: Partial<LocalDeps> = {}): Local {
  const network = createFetch(process.env);
  const local = createLocal({
    dataDir: localDataDir,
    distDir: null,
    configDir,
    env: process.env,
    onState: () => undefined,
    fetch: (url, init) => (url.includes("/resolve/main/") ? Promise.reject(new Error("not in tests")) : network.fetch(url, init)),
    ...over,
  });
  return {
    ...local,
    close: async () => {
      await local.close();
      await network.close();
    },
  };
}

/**
 * Puts runtime and TinyLlama in the cache, by the product's own download.
 * @returns why it cannot be had, or null. Under `CI=true` that is thrown instead: there it must be had.
 */
export async function prepareLocalModel(): Promise<string | null> {
  const local = openLocal();
  try {
    if (local.state().status !== "ready") await local.download();
    return null;
  } catch (error) {
    if (process.env["CI"] === "true" || !(error instanceof Error)) throw error;
    console.warn(`The real local model cannot be tested here: ${error.message}`);
    return error.message;
  } finally {
    await local.close();
  }
}

/** The tiny random model's file; made on first use. */
export function tinyModel(context = 2_048): string {
  const path = join(localDataDir, context === 2_048 ? "tiny-random.gguf" : `tiny-random-${context}.gguf`);
  mkdirSync(localDataDir, { recursive: true });
  if (!existsSync(path)) writeTinyModel(path, context);
  return path;
}
