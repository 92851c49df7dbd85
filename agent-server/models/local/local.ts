import { totalmem } from "node:os";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalModel } from "../../contract/models.ts";
import type { Provider } from "../providers/provider.ts";
import { chooseHubModel, readCatalog } from "./catalog.ts";

export interface LocalDeps {
  dataDir: string;
  /** The built `dist/` folder; null when running from source. */
  distDir: string | null;
  /** The shipped `config/` folder. */
  configDir: string;
  env: Readonly<Record<string, string | undefined>>;
  onState: (state: LocalModel) => void;
}

/** The embedded default: a model on this machine, in a process of its own, without any key (M5). */
export interface Local {
  provider: Provider;
  state(): LocalModel;
  /** Fetches runtime and model; goes on where an earlier try stopped. @throws LancelotError worded for the owner. */
  download(): Promise<LocalModel>;
  /** Stops a running download and keeps what is here. */
  cancelDownload(): LocalModel;
  /** @throws LancelotError `unavailable` while nothing is here. */
  model(): Promise<{ name: string; contextWindow: number; small: boolean }>;
  /** Ends the process and a running download. */
  close(): Promise<void>;
}

export function createLocal(deps: LocalDeps): Local {
  const catalog = readCatalog(deps.configDir, deps.dataDir);
  const offered = chooseHubModel(catalog, { ramBytes: totalmem(), gpu: process.platform === "darwin" && process.arch === "arm64" });
  const absent: LocalModel = {
    status: "absent",
    file: null,
    name: offered.name,
    license: offered.license,
    totalBytes: offered.bytes,
    doneBytes: 0,
    source: null,
    problem: null,
  };
  const missing = () =>
    new LancelotError("unavailable", "There is no local model on this machine yet. Download it, or choose another provider.");
  return {
    provider: {
      // oxlint-disable-next-line require-yield
      async *stream() {
        throw missing();
      },
      listModels: () => Promise.resolve([]),
    },
    state: () => absent,
    download: () => Promise.reject(missing()),
    cancelDownload: () => absent,
    model: () => Promise.reject(missing()),
    close: () => Promise.resolve(),
  };
}
