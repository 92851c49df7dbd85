import { noUsage } from "../../agent-server/contract/chat.ts";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LocalModel } from "../../agent-server/contract/models.ts";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import {
  createModels,
  routerMigrations,
  usageMigrations,
  type ModelEvent,
  type ModelRequest,
  type Models,
  type ModelsDeps,
} from "../../agent-server/models/models.ts";
import { createLedger, receiptsMigrations, type Ledger } from "../../agent-server/receipts/receipts.ts";
import { createGatedFetch, createRedactor, type Secrets } from "../../agent-server/security/security.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "./migrated-storage.ts";

export interface ModelsFixture {
  models: Models;
  ledger: Ledger;
  storage: Storage;
  dataDir: string;
  /** Milliseconds of each wait between tries; none is really waited. */
  waits: number[];
  /** Receipts of the model calls, oldest first. */
  receipts: () => Receipt[];
  /** The owner's models.yaml and router.yaml. */
  writeConfig: (yaml: string) => void;
  writeRouter: (yaml: string) => void;
  close: () => Promise<void>;
}

const configDir = join(import.meta.dirname, "../../config");

/** The room of models with its real neighbours, on a data folder of its own. Keys come from `keys` and nowhere else. */
export function createModelsFixture(
  options: {
    yaml?: string;
    router?: string;
    keys?: Record<string, string>;
    /** Made on the room's own database. */
    usageOf?: (of: { storage: Storage; dataDir: string; configDir: string }) => NonNullable<ModelsDeps["usage"]>;
    /** A data folder that stays. */
    dataDir?: string;
  } & Partial<ModelsDeps> = {},
): ModelsFixture {
  const { yaml, router, keys = {}, usageOf, ...deps } = options;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "lancelot-models-"));
  const writer = (name: string) => (text: string) => {
    mkdirSync(join(dataDir, "config"), { recursive: true });
    writeFileSync(join(dataDir, "config", name), text);
  };
  const [writeConfig, writeRouter] = [writer("models.yaml"), writer("router.yaml")];
  if (yaml !== undefined) writeConfig(yaml);
  if (router !== undefined) writeRouter(router);
  const redactor = createRedactor();
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...usageMigrations, ...routerMigrations] });
  const ledger = createLedger({ storage, redactor });
  const waits: number[] = [];
  const models = createModels({
    storage,
    configDir,
    dataDir,
    distDir: null,
    secrets: secretsOf(keys),
    gatedFetch: createGatedFetch({ env: {} }),
    ledger,
    redactor,
    env: {},
    sleep: (ms, signal) => {
      waits.push(ms);
      return signal.aborted ? Promise.reject(new Error("stopped")) : Promise.resolve();
    },
    random: () => 1,
    ...(usageOf === undefined ? {} : { usage: usageOf({ storage, dataDir, configDir }) }),
    ...deps,
  });
  return {
    models,
    ledger,
    storage,
    dataDir,
    waits,
    receipts: () => ledger.search({ actionType: "llm_call", limit: 500 }).items.toReversed(),
    writeConfig,
    writeRouter,
    async close() {
      await models.close();
      storage.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function secretsOf(keys: Record<string, string>): Secrets {
  const kept = new Map(Object.entries(keys));
  return {
    get: (name) => Promise.resolve(kept.get(name) ?? null),
    set: (name, value) => Promise.resolve(void kept.set(name, value)),
    delete: (name) => Promise.resolve(void kept.delete(name)),
    list: () => Promise.resolve([...kept.keys()]),
  };
}

/** An embedded local model in a given state. */
export function localIn(state: Partial<LocalModel>): NonNullable<ModelsDeps["local"]> {
  const model: LocalModel = {
    status: "absent",
    file: null,
    name: "Small model",
    license: "Apache-2.0",
    totalBytes: 322_000_000,
    doneBytes: 0,
    source: null,
    problem: null,
    ...state,
  };
  return () => ({
    provider: {
      async *stream(): AsyncGenerator<ModelEvent> {
        yield { type: "text", text: "local words" };
        yield {
          type: "done",
          content: [{ type: "text", text: "local words" }],
          malformed: [],
          stop: "end",
          usage: { ...noUsage(), inputTokens: 1, outputTokens: 2 },
        };
      },
      listModels: () => Promise.resolve([]),
    },
    state: () => model,
    download: () => Promise.resolve(model),
    cancelDownload: () => model,
    load: () => Promise.resolve(model),
    catalogProblem: () => null,
    unload: () => Promise.resolve(model),
    remove: () => Promise.resolve(model),
    degraded: () => null,
    isLoaded: () => model.status === "loaded",
    model: () => Promise.resolve({ name: model.name, contextWindow: 4096, small: true }),
    embedder: {
      sha256: null,
      state: () => ({ status: "absent", problem: null }),
      missingBytes: () => 0,
      install: () => Promise.resolve(),
      embed: () => Promise.reject(new LancelotError("unavailable", "The model of the intent lane is not on this machine.")),
      warm: () => false,
      pid: () => undefined,
      remove: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
    taskModel: () => null,
    pid: () => undefined,
    close: () => Promise.resolve(),
  });
}

type Done = Extract<ModelEvent, { type: "done" }>;

export interface Answer {
  events: ModelEvent[];
  /** What was streamed since the last retry. */
  text: string;
  thinking: string;
  done: Done;
}

/** Runs one request to its end. */
export async function ask(
  models: Models,
  request: Partial<ModelRequest> & { message?: string },
  signal = new AbortController().signal,
  context: Partial<Parameters<Models["stream"]>[1]> = {},
): Promise<Answer> {
  const { message = "Hello", ...rest } = request;
  const events: ModelEvent[] = [];
  const full: ModelRequest = { system: "", messages: [{ role: "user", content: [{ type: "text", text: message }] }], tools: [], ...rest };
  for await (const event of models.stream(full, { questId: null, parentId: null, ...context, signal })) events.push(event);
  const since = events.slice(events.findLastIndex((event) => event.type === "retry") + 1);
  const join = (type: "text" | "thinking"): string => since.map((event) => (event.type === type ? event.text : "")).join("");
  const done = since.at(-1);
  if (done?.type !== "done") throw new Error("the stream had no end");
  return { events, text: join("text"), thinking: join("thinking"), done };
}

/** The error a request ends with. */
export async function failure(work: Promise<unknown>): Promise<LancelotError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}
