import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import type { Provider } from "../providers/provider.ts";
import { type Catalog, chooseHubModel, type HubModel, type NpmModel, readCatalog } from "./catalog.ts";
import { createFetch, type Fetch } from "./download.ts";
import { createInstaller } from "./install.ts";
import { createModelProcess } from "./model-process.ts";
import { createLocalProvider, type LocalModelCard } from "./provider.ts";
import { createRuntime } from "./runtime.ts";
import { readSettings } from "./settings.ts";

export interface LocalDeps {
  dataDir: string;
  /** The built `dist/` folder; null when running from source. */
  distDir: string | null;
  /** The shipped `config/` folder. */
  configDir: string;
  env: Readonly<Record<string, string | undefined>>;
  onState: (state: LocalModel) => void;
  /** Unload after so long without a request. Milliseconds; ten minutes unless said. */
  idleMs?: number;
  /** How files are fetched; over the network, through the environment's proxy, unless said. */
  fetch?: Fetch;
  /** Wait before the second try of a download; doubles with each. Milliseconds; a second unless said. */
  retryMs?: number;
}

/** The embedded default: a model on this machine, in a process of its own, without any key (M5). */
export interface Local {
  provider: Provider;
  state(): LocalModel;
  /**
   * Fetches what is missing of runtime and model; goes on where an earlier try stopped. The states on the way come by `onState`.
   * @throws LancelotError worded for the owner, `cancelled` after `cancelDownload`.
   */
  download(): Promise<LocalModel>;
  /** Stops a running download and keeps what is here. */
  cancelDownload(): LocalModel;
  /** May load an owner's file to learn its size. @throws LancelotError `unavailable` while nothing is here. */
  model(): Promise<{ name: string; contextWindow: number; small: boolean }>;
  /** Process id of the loaded model. */
  pid(): number | undefined;
  /** Ends the process and a running download. */
  close(): Promise<void>;
}

/** A model that is on this disk, or could be. */
interface Candidate {
  path: string;
  name: string;
  license: string;
  note?: string;
  bytes: number;
  source: "hub" | "npm" | "owner";
  /** Tokens. */
  context: number;
  small: boolean;
}

/** Below this an owner's model is taken for a small one. Bytes. */
const smallFile = 2_000_000_000;

export function createLocal(deps: LocalDeps): Local {
  const { configDir, dataDir, env } = deps;
  const catalog = readCatalog(configDir, dataDir);
  const runtime = createRuntime(configDir, dataDir);
  const gpu = process.platform === "darwin" && process.arch === "arm64";
  const offered = chooseHubModel(catalog, { ramBytes: totalmem(), gpu });
  const network = deps.fetch === undefined ? createFetch(env) : { fetch: deps.fetch, close: () => Promise.resolve() };
  const folder = join(dataDir, "models");
  let loading: "loading" | "loaded" | "unloaded" = "unloaded";
  let problem: string | null = null;
  /** Measured size of an owner's file's context, by path. */
  const measured = new Map<string, number>();

  const settings = () => readSettings(configDir, dataDir, env);
  const installer = createInstaller({
    folder,
    env,
    runtime,
    fetch: network.fetch,
    ...(deps.retryMs !== undefined && { retryMs: deps.retryMs }),
    hub: offered,
    npm: catalog.npm,
    wantsModel: () => settings().ownModel === null && present(catalog, offered, folder) === undefined,
    onProgress: () => deps.onState(state()),
  });
  const modelProcess = createModelProcess({
    entry: deps.distDir === null ? fileURLToPath(new URL("./process.ts", import.meta.url)) : join(deps.distDir, "host", "local-model.js"),
    env,
    idleMs: deps.idleMs ?? 600_000,
    backoffMs: 500,
    load: () => {
      const { contextSize, threads, gpuLayers } = settings();
      const model = usable();
      return {
        type: "load",
        runtime: runtime.entry,
        model: model.path,
        contextSize: contextSize ?? model.context,
        threads,
        gpu,
        gpuLayers,
      };
    },
    onChange: (change) => {
      loading = change;
      deps.onState(state());
    },
  });

  /** The model that answers: the owner's, else one of the catalog that is here. */
  function chosen(): Candidate | undefined {
    const { ownModel } = settings();
    if (ownModel === null) return present(catalog, offered, folder);
    const bytes = existsSync(ownModel) ? statSync(ownModel).size : undefined;
    if (bytes === undefined) return undefined;
    const name = basename(ownModel).replace(/\.gguf$/i, "");
    return { path: ownModel, name, license: "unknown (your own file)", bytes, source: "owner", context: 8_192, small: bytes < smallFile };
  }

  /** What no download would mend. */
  function blockedBy(): string | null {
    const { enabled, ownModel, problem: wrong } = settings();
    if (!enabled) return "The local model is turned off (local.enabled in models.yaml).";
    if (wrong !== null) return wrong;
    if (ownModel === null || existsSync(ownModel)) return null;
    return `The local model file ${basename(ownModel)} is not there. Correct local.model in models.yaml.`;
  }

  /** @throws LancelotError `unavailable` with the next step. */
  function usable(): Candidate {
    const blocked = blockedBy();
    if (blocked !== null) throw new LancelotError("unavailable", blocked);
    const model = chosen();
    if (model === undefined || !runtime.installed()) {
      throw new LancelotError("unavailable", "There is no local model on this machine yet. Download it, or choose another provider.", {
        data: { action: "download_model" },
      });
    }
    return model;
  }

  function state(): LocalModel {
    const underway = installer.progress();
    const model = chosen();
    if (underway !== null) {
      // Where a model is here, only the runtime is fetched.
      const own = model === undefined ? {} : { name: model.name, license: model.license, file: basename(model.path), source: model.source };
      return { status: "downloading", problem: null, ...underway, ...own };
    }
    const { name, license, note } = model ?? offered;
    const partial = statSync(join(folder, `${offered.file}.part`), { throwIfNoEntry: false })?.size ?? 0;
    const base = {
      file: model === undefined ? null : basename(model.path),
      name,
      license,
      ...(note !== undefined && { note }),
      totalBytes: runtime.bytes + (model?.bytes ?? offered.bytes),
      doneBytes: (runtime.installed() ? runtime.bytes : 0) + (model?.bytes ?? partial),
      source: model?.source ?? null,
    };
    const blocked = blockedBy();
    if (blocked !== null) return { ...base, status: "failed", problem: blocked };
    if (model === undefined || !runtime.installed()) return { ...base, status: problem === null ? "absent" : "failed", problem };
    return { ...base, status: loading === "unloaded" ? "ready" : loading, problem: null };
  }

  async function card(): Promise<LocalModelCard> {
    const model = usable();
    const wanted = settings().contextSize ?? model.context;
    let contextWindow = wanted;
    if (model.source === "owner") {
      const known = measured.get(model.path) ?? (await modelProcess.ready(AbortSignal.timeout(300_000))).contextSize;
      measured.set(model.path, known);
      contextWindow = known;
    }
    return { file: basename(model.path), name: model.name, contextWindow, small: model.small };
  }

  return {
    provider: createLocalProvider({ process: modelProcess, card, newCallId: () => `call_${randomUUID()}` }),
    state,
    async download() {
      problem = null;
      try {
        await installer.run();
      } catch (error) {
        if (!(error instanceof LancelotError && error.code === "cancelled")) {
          problem = error instanceof LancelotError ? error.message : "The download failed. The log says why.";
        }
        deps.onState(state());
        throw error;
      }
      deps.onState(state());
      return state();
    },
    cancelDownload() {
      installer.cancel();
      return state();
    },
    model: async () => {
      const { name, contextWindow, small } = await card();
      return { name, contextWindow, small };
    },
    pid: () => modelProcess.pid(),
    async close() {
      await installer.close();
      await modelProcess.close();
      await network.close();
    },
  };
}

/** The best model of the catalog that is on this disk, whole: the one offered, else the largest of the hub, else npm's. */
function present(catalog: Catalog, offered: HubModel, folder: string): Candidate | undefined {
  const hub = [offered, ...catalog.hub.toReversed()].find((model) => isHere(model, folder));
  const model = hub ?? (isHere(catalog.npm, folder) ? catalog.npm : undefined);
  if (model === undefined) return undefined;
  const { name, license, note, bytes, context, small } = model;
  return { path: join(folder, model.file), name, license, note, bytes, context, small, source: hub === undefined ? "npm" : "hub" };
}

/** A file gets its name only after its checksum was right; its size shows what happened to it since. */
function isHere(model: HubModel | NpmModel, folder: string): boolean {
  return statSync(join(folder, model.file), { throwIfNoEntry: false })?.size === model.bytes;
}
