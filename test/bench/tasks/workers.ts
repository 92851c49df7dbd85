// Who works on the tasks: played engineers, the owner's providers, or the local model.
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { defaultDataDir } from "../../../agent-server/paths.ts";
import { localDataDir, prepareLocalModel } from "../../support/models/local-models.ts";
import type { Worker } from "./run-task.ts";

/** Keys of providers are taken from the environment; the vault stays closed. */
const keyName = /^[A-Z][A-Z0-9_]*_API_KEY$/;

/** The provider of this name in the owner's configuration. @param dataDir where that is; the owner's own data folder unless said */
export function providerWorker(name: string, dataDir: string | undefined): Worker {
  const config = join(dataDir ?? defaultDataDir(process.env), "config");
  const keys = Object.entries(process.env).flatMap(([key, value]) => (keyName.test(key) && value !== undefined ? [[key, value]] : []));
  return {
    name,
    env: { ...(Object.fromEntries(keys) as Record<string, string>), LANCELOT_PROVIDER: name },
    prepare: async (to) => {
      if (existsSync(config)) await cp(config, join(to, "config"), { recursive: true });
    },
  };
}

/** The small local model that the tests use. @throws Error when it cannot be had on this machine */
export async function localWorker(): Promise<Worker> {
  const missing = await prepareLocalModel();
  if (missing !== null) throw new Error(missing);
  return {
    name: "local",
    env: { LANCELOT_PROVIDER: "local" },
    // The cached runtime and models, which are too large for a copy in every task.
    async prepare(to) {
      await symlink(join(localDataDir, "runtime"), join(to, "runtime"));
      await mkdir(join(to, "models"), { recursive: true });
      for (const file of await readdir(join(localDataDir, "models")))
        await symlink(join(localDataDir, "models", file), join(to, "models", file));
    },
  };
}
