import { randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import { type Candidate, damaged, ownFile, ownFileProblem, present } from "./candidates.ts";
import { openCatalog, tasksOf } from "./catalog.ts";
import { createFetch } from "./download.ts";
import { createIntentLane } from "./embedding-lane.ts";
import { createInstaller } from "./installer.ts";
import { chooseModel, fitOf, gigabytes, measureMachine } from "./machine.ts";
import type { Load } from "./model-protocol.ts";
import { createModelProcess } from "./model-process.ts";
import { createLocalProvider, type LocalModelCard } from "./local-provider.ts";
import { createRuntime } from "./runtime.ts";
import { createSettings } from "./local-settings.ts";
import { createFailureBackoff, type LocalProblem, localProblemOf } from "./failure-backoff.ts";
import type { Local, LocalDeps } from "./types.ts";
import { createVerifier, stampOf } from "./verify.ts";

const again = "Download it again.";

export function createLocal(deps: LocalDeps): Local {
  const { configDir, dataDir, env } = deps;
  const catalogFile = openCatalog(configDir, dataDir);
  const { catalog } = catalogFile;
  const runtime = createRuntime(configDir, dataDir);
  const folder = join(dataDir, "models");
  const machine = deps.machine ?? (() => measureMachine(folder));
  const verifier = createVerifier(folder);
  const settings = createSettings(configDir, dataDir, env);
  const network = deps.fetch === undefined ? createFetch(env) : { fetch: deps.fetch, close: () => Promise.resolve() };
  const { gpu } = machine();
  let offered = chooseModel(catalog, machine());
  let loading: "loading" | "loaded" | "unloaded" = "unloaded";
  /** The problem of the last download. */
  let downloadProblem: LocalProblem | null = null;
  let told = "";
  /** Measured context size of a user's own file, by path and load settings. */
  const measured = new Map<string, number>();

  const troubles = createFailureBackoff({ onChange: () => emit() });
  const installer = createInstaller({
    folder,
    env,
    runtime,
    fetch: network.fetch,
    ...(deps.retryMs !== undefined && { retryMs: deps.retryMs }),
    ...(deps.free !== undefined && { free: deps.free }),
    hub: () => offered.model,
    npm: catalog.npm,
    wantsModel: () => settings().ownModel === null && present(catalog, offered.model, folder, verifier) === undefined,
    onProgress: () => emit(),
    onModel: (path) => verifier.remember(path),
  });
  const modelProcess = createModelProcess({
    entry:
      deps.distDir === null ? fileURLToPath(new URL("./model-worker.ts", import.meta.url)) : join(deps.distDir, "host", "local-model.js"),
    env,
    idleMs: deps.idleMs ?? 600_000,
    backoffMs: deps.retryMs ?? 500,
    load: prepare,
    onChange: (change, trouble) => {
      loading = change;
      if (trouble !== null) troubles.failed(trouble, key());
      else if (change === "loaded") troubles.loaded();
      emit();
    },
    onAnswer: () => {
      troubles.answered();
      emit();
    },
    ...deps.process,
  });

  const intent = createIntentLane({
    model: catalog.intent,
    folder,
    runtime,
    verifier,
    distDir: deps.distDir,
    env,
    fetch: network.fetch,
    threads: () => settings().threads,
    onChange: () => emit(),
    retryMs: deps.retryMs,
    ...(deps.idleMs !== undefined && { idleMs: deps.idleMs }),
  });

  function emit(): void {
    const current = state();
    // Elapsed time alone is no change.
    const news = JSON.stringify({ ...current, fit: "", loaded: current.loaded && { ...current.loaded, idleMs: 0 } });
    if (news === told) return;
    told = news;
    deps.onState(current);
  }

  /** The model that answers: the user's own, otherwise an installed one of the catalog. */
  function chosen(): Candidate | undefined {
    const { ownModel } = settings();
    return ownModel === null ? present(catalog, offered.model, folder, verifier) : ownFile(ownModel);
  }

  /** Identifies the model and its settings, since a failure of one says nothing about another. */
  function key(): string {
    const { contextSize, threads, gpuLayers } = settings();
    const path = chosen()?.path ?? "";
    return JSON.stringify([path, stampOf(path), contextSize, threads, gpuLayers, runtime.installed()]);
  }

  /** A problem that only the user can solve. */
  function blockedBy(): LocalProblem | null {
    const { enabled, ownModel, problem: wrong } = settings();
    const held = true;
    if (!enabled) return { problem: "The local model is turned off (local.enabled in config/models.yaml).", nextStep: null, held };
    if (wrong !== null) return { problem: wrong, nextStep: "Correct it and restart Lancelot.", held };
    if (ownModel !== null) {
      const problem = ownFileProblem(ownModel);
      return problem === null ? null : { problem, nextStep: "Correct local.model in config/models.yaml.", held };
    }
    if (chosen() !== undefined) return null;
    const file = damaged(catalog, folder, verifier);
    return file === undefined ? null : { problem: `${file} is damaged: it is not the file that was downloaded.`, nextStep: again, held };
  }

  /** @throws LancelotError `unavailable` with the next step. */
  function usable(): Candidate {
    const model = chosen();
    const trouble = blockedBy() ?? heldBack();
    if (trouble !== null) throw formatDuration(trouble);
    if (model === undefined || !runtime.installed()) {
      throw new LancelotError("unavailable", "There is no local model on this machine yet. Download it, or choose another provider.", {
        data: { action: "download_model" },
      });
    }
    return model;
  }

  /** Unloads a model that may no longer be used. */
  async function usableOrUnloaded(): Promise<Candidate> {
    try {
      return usable();
    } catch (error) {
      await modelProcess.unload();
      throw error;
    }
  }

  function heldBack(): LocalProblem | null {
    const trouble = troubles.now(key());
    return trouble?.held === true ? trouble : null;
  }

  /** What to load now. Verifies the checksum of a file that is not verified yet. */
  async function prepare(signal: AbortSignal): Promise<Load> {
    const { contextSize, threads, gpuLayers } = settings();
    const model = await usableOrUnloaded();
    if (model.sha256 !== null && verifier.verdict(model.path) !== "right") await check(model, model.sha256, signal);
    if (modelProcess.pid() === undefined) checkRuntime();
    return {
      type: "load",
      runtime: runtime.entry,
      model: model.path,
      stamp: stampOf(model.path) ?? "",
      contextSize: contextSize ?? model.context,
      threads,
      gpu: gpu && gpuLayers !== 0,
      gpuLayers,
    };
  }

  function checkRuntime(): void {
    try {
      runtime.check();
    } catch (error) {
      downloadProblem = localProblemOf(error);
      emit();
      throw error;
    }
  }

  async function check({ path }: Candidate, sha256: string, signal: AbortSignal): Promise<void> {
    loading = "loading";
    emit();
    try {
      if (await verifier.verify(path, sha256, signal)) return;
      // A model that was loaded before its file changed is unloaded.
      await modelProcess.unload();
      throw formatDuration(blockedBy() ?? { problem: `${basename(path)} is damaged.`, nextStep: again, held: true });
    } catch (error) {
      if (modelProcess.pid() === undefined) loading = "unloaded";
      emit();
      if (signal.aborted || error instanceof LancelotError) throw error;
      const next = "Check its permissions and the disk, or download it again.";
      const failure = new LancelotError("unavailable", `${basename(path)} cannot be read (${codeOf(error)}). ${next}`, {
        data: { next },
        cause: error,
      });
      troubles.failed(failure, key());
      throw failure;
    }
  }

  function state(): LocalModel {
    return { ...modelState(), intent: intent.embedder.state() };
  }

  function modelState(): LocalModel {
    const underway = installer.progress();
    const model = chosen();
    if (underway !== null) {
      // Only the runtime is downloaded when a model is installed.
      const own = model === undefined ? {} : { name: model.name, license: model.license, file: basename(model.path), source: model.source };
      return { status: "downloading", problem: null, nextStep: null, paused: false, fit: offered.fit, ...underway, ...own };
    }
    const { name, license, note } = model ?? offered.model;
    const partial = installer.partial(offered.model);
    const base = {
      file: model === undefined ? null : basename(model.path),
      name,
      license,
      ...(note !== undefined && { note }),
      totalBytes: runtime.bytes + (model?.bytes ?? offered.model.bytes),
      doneBytes: (runtime.installed() ? runtime.bytes : 0) + (model?.bytes ?? partial),
      source: model?.source ?? null,
      fit: model === undefined ? offered.fit : fitOf(model.name, model.memoryBytes, machine()),
    };
    const trouble = blockedBy() ?? troubles.now(key());
    if (trouble?.held === true) return { ...base, status: "failed", problem: trouble.problem, nextStep: trouble.nextStep };
    if (model === undefined || !runtime.installed()) {
      const { problem = null, nextStep = null } = downloadProblem ?? trouble ?? {};
      return { ...base, status: problem === null ? "absent" : "failed", problem, nextStep, paused: partial > 0 };
    }
    const { problem = null, nextStep = null } = trouble ?? {};
    const health = loading === "loaded" ? modelProcess.health() : null;
    const status = loading === "unloaded" ? "ready" : loading;
    if (health === null) return { ...base, status, problem, nextStep, loaded: null };
    const { gpu: used, ...loaded } = health;
    const onGpu = used === null ? "" : ` ${loaded.gpuLayers} of its layers are on the GPU (${used.name}, ${gigabytes(used.bytes)}).`;
    return { ...base, fit: base.fit + onGpu, status, problem, nextStep, loaded };
  }

  async function card(): Promise<LocalModelCard> {
    const model = await usableOrUnloaded();
    const wanted = settings().contextSize ?? model.context;
    const file = basename(model.path);
    if (model.source !== "owner") return { file, name: model.name, contextWindow: wanted, small: model.small };
    const which = key();
    const known = measured.get(which) ?? (await modelProcess.ready(AbortSignal.timeout(300_000))).contextSize;
    measured.set(which, known);
    return { file, name: model.name, contextWindow: known, small: model.small };
  }

  return {
    provider: createLocalProvider({ process: modelProcess, card, newCallId: () => `call_${randomUUID()}` }),
    state,
    async download(only) {
      const before = downloadProblem;
      downloadProblem = null;
      // A partial download is resumed; otherwise the machine may have changed since.
      if (installer.progress() === null && installer.partial(offered.model) === 0) offered = chooseModel(catalog, machine());
      try {
        // The files are complete but cannot be loaded, so the runtime is downloaded again.
        const broken = troubles.now(key()) !== null;
        troubles.release();
        if (broken) await modelProcess.unload();
        await installer.run({ renewRuntime: broken, runtimeOnly: only === "intent" });
        await intent.download();
      } catch (error) {
        const isCancelled = error instanceof LancelotError && error.code === "cancelled";
        downloadProblem = isCancelled ? before : localProblemOf(error);
        throw error;
      } finally {
        emit();
      }
      return state();
    },
    cancelDownload() {
      installer.cancel();
      intent.cancel();
      return state();
    },
    async load(signal) {
      troubles.release();
      await modelProcess.ready(signal);
      return state();
    },
    async unload() {
      await modelProcess.unload();
      return state();
    },
    async remove() {
      await installer.close();
      await modelProcess.unload();
      await installer.remove(catalog);
      await intent.embedder.remove();
      downloadProblem = null;
      emit();
      return state();
    },
    catalogProblem: () => catalogFile.problem(),
    isLoaded: () => loading === "loaded" && modelState().status === "loaded",
    degraded() {
      if (!settings().enabled) return null;
      const { status, problem, nextStep } = state();
      if (problem === null || status === "downloading") return null;
      return `Local model: ${problem}${nextStep ? ` ${nextStep}` : ""}`;
    },
    model: async () => {
      const { name, contextWindow, small } = await card();
      return { name, contextWindow, small };
    },
    embedder: intent.embedder,
    taskModel() {
      const model = chosen();
      if (model === undefined || !runtime.installed() || blockedBy() !== null || heldBack() !== null) return null;
      const tasks = tasksOf(catalog, model);
      return { file: basename(model.path), loaded: loading === "loaded", contextWindow: settings().contextSize ?? model.context, tasks };
    },
    pid: () => modelProcess.pid(),
    async close() {
      troubles.close();
      await intent.close();
      await installer.close();
      await modelProcess.close();
      await network.close();
    },
  };
}

function formatDuration({ problem, nextStep }: LocalProblem): LancelotError {
  const message = nextStep === null ? problem : `${problem} ${nextStep}`;
  return new LancelotError("unavailable", message, { data: nextStep === null ? {} : { next: nextStep } });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
