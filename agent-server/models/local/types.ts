import type { LocalModel } from "../../contract/models.ts";
import type { Provider } from "../providers/types.ts";
import type { TaskName } from "./catalog.ts";
import type { Fetch } from "./download.ts";
import type { Embedder } from "./embedding.ts";
import type { InstallerDeps } from "./installer.ts";
import type { Machine } from "./machine.ts";
import type { ModelProcessDeps } from "./model-process.ts";

export interface LocalDeps {
  dataDir: string;
  /** The built `dist/` folder; null when running from source. */
  distDir: string | null;
  /** The shipped `config/` folder. */
  configDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Called for every change; progress at most five times a second. */
  onState: (state: LocalModel) => void;
  /** Unload after so long without a request (ms); ten minutes by default. */
  idleMs?: number;
  /** How files are downloaded; over the network and the environment's proxy by default. */
  fetch?: Fetch;
  /** Delay before a retry of a download (one second by default) and a restart after a crash (half a second); doubles with each (ms). */
  retryMs?: number;
  /** Replaced by tests. */
  machine?: () => Machine;
  process?: Partial<Pick<ModelProcessDeps, "entry" | "watch" | "maxQueued">>;
  free?: InstallerDeps["free"];
}

/** The embedded default: a model on this machine, in its own process, without an API key (M5). */
export interface Local {
  provider: Provider;
  state(): LocalModel;
  /**
   * Downloads missing and damaged parts: runtime, model and intent classifier, or all but the model. Resumes an interrupted download. `onState`
   * reports progress.
   * @throws LancelotError with a message for the user; `cancelled` after `cancelDownload`
   */
  download(only?: "intent"): Promise<LocalModel>;
  /** Stops a running download, which can be resumed. */
  cancelDownload(): LocalModel;
  /** Loads it now, even after repeated failures. @throws LancelotError `unavailable` with the next step */
  load(signal: AbortSignal): Promise<LocalModel>;
  /** Ends its process; the next request loads it again. */
  unload(): Promise<LocalModel>;
  /** Deletes downloaded models, complete or not, but not the user's own file. @throws LancelotError `conflict` while another window downloads */
  remove(): Promise<LocalModel>;
  /** Its problem and the next step; null without a problem, and where there is no local model. */
  degraded(): string | null;
  /** Why the user's config/local-models.yaml is not used; null when it is, or there is none. */
  catalogProblem(): string | null;
  /** True while the model is loaded; does not read the disk. */
  isLoaded(): boolean;
  /** May load a user's own file to measure its context. @throws LancelotError `unavailable` without a model */
  model(): Promise<{ name: string; contextWindow: number; small: boolean }>;
  /** The embedding model of the intent classifier, in its own process. */
  embedder: Embedder;
  /** The model that could do local tasks, and the tasks it does better than rules; null while none is ready. */
  taskModel(): { file: string; loaded: boolean; contextWindow: number; tasks: readonly TaskName[] } | null;
  /** Process id of the loaded model. */
  pid(): number | undefined;
  /** Ends the process and a running download. */
  close(): Promise<void>;
}
