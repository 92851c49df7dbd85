import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openCatalog } from "../../../../agent-server/models/local/catalog.ts";
import { createLocal } from "../../../../agent-server/models/local/local.ts";
import type { LocalDeps } from "../../../../agent-server/models/local/types.ts";
import { chooseModel, type Machine } from "../../../../agent-server/models/local/machine.ts";
import { createRuntime } from "../../../../agent-server/models/local/runtime.ts";
import { createSettings } from "../../../../agent-server/models/local/local-settings.ts";

const configDir = fileURLToPath(new URL("../../../../config", import.meta.url));
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "local-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const local = (over: Partial<LocalDeps> = {}) =>
  createLocal({
    dataDir,
    distDir: null,
    configDir,
    env: {},
    onState: () => undefined,
    retryMs: 1,
    fetch: () => Promise.reject(new Error("no network")),
    ...over,
  });

const machineOf = (ram: number, free: number | null, gpu = false, disk: number | null = 100e9): Machine => ({
  ramBytes: ram,
  freeBytes: free,
  gpu,
  diskBytes: disk,
});
it.each<[string, Machine, string, RegExp]>([
  [
    "4 GB",
    machineOf(4e9, 3e9),
    "qwen3.5-2b",
    /4\.0 GB of memory \(3\.0 GB free\).*Qwen3\.5 2B fits.*Qwen3 4B Instruct requires a machine with 7\.5 GB/,
  ],
  ["8 GB", machineOf(8.2e9, 6e9), "qwen3-4b-instruct", /Qwen3 4B Instruct fits.*Qwen3 8B requires a machine with 15\.5 GB/],
  ["64 GB without a GPU", machineOf(64e9, 60e9), "qwen3-4b-instruct", /Qwen3 8B requires a GPU that the embedded runtime can use/],
  ["16 GB and a GPU", machineOf(16.5e9, 12e9, true), "qwen3-8b", /a GPU for the embedded runtime\. Qwen3 8B fits/],
  ["16 GB and a GPU, free memory unknown", machineOf(16.5e9, null, true), "qwen3-8b", /16\.5 GB of memory, 100\.0 GB/],
  ["8 GB and a GPU", machineOf(8.2e9, 6e9, true), "qwen3-4b-instruct", /fits/],
  ["16 GB with most of it in use", machineOf(16.5e9, 3e9), "qwen3.5-2b", /Qwen3 4B Instruct requires 4\.3 GB of free memory/],
  [
    "16 GB with a disk nearly full",
    machineOf(16.5e9, 12e9, true, 3e9),
    "qwen3-4b-instruct",
    /Qwen3 8B requires 5\.3 GB of free disk space/,
  ],
  ["nothing to spare", machineOf(2e9, 0.5e9), "qwen3.5-2b", /the smallest model, and it requires 2\.2 GB of free memory/],
])("offers a model that fits %s, and says why", (_machine, machine, id, why) => {
  const { model, fit } = chooseModel(openCatalog(configDir, dataDir).catalog, machine);
  expect(model.id).toBe(id);
  expect(fit).toMatch(why);
});

it("prefers the owner's catalog, and names what is wrong with it", () => {
  const shipped = readFileSync(join(configDir, "local-models.yaml"), "utf8");
  const { catalog } = openCatalog(configDir, dataDir);
  mkdirSync(join(dataDir, "config"));
  const own = (text: string) => writeFileSync(join(dataDir, "config/local-models.yaml"), text);
  own("version: '1.0'\nhub: []\n");
  expect(openCatalog(configDir, dataDir).problem()).toMatch(/local-models\.yaml.*line 2: hub/);
  expect(openCatalog(configDir, dataDir).catalog).toEqual(catalog);
  own(shipped.replaceAll("name: Qwen", "name: Mine"));
  const mine = openCatalog(configDir, dataDir);
  expect([mine.problem(), JSON.stringify(mine.catalog).includes("Mine")]).toEqual([null, true]);
  own("hub: [\n");
  expect(openCatalog(configDir, dataDir).catalog).toEqual(mine.catalog);
});

it.each(["linux-x64", "linux-arm64", "linux-arm", "darwin-arm64", "darwin-x64", "win32-x64", "win32-arm64"])(
  "ships a runtime for %s",
  (platform) => {
    const bytes = createRuntime(configDir, dataDir, platform).bytes;
    expect(bytes).toBeGreaterThan(createRuntime(configDir, dataDir, "none").bytes);
  },
);

it("offers a model with its size, licence and what to expect before anything is here", async () => {
  const it = local();
  expect(it.state()).toMatchObject({ status: "absent", file: null, source: null, problem: null, license: "Apache-2.0", doneBytes: 0 });
  expect(it.state().totalBytes).toBeGreaterThan(1e9);
  expect(it.state().note).toMatch(/\w/);
  await expect(it.model()).rejects.toMatchObject({ code: "unavailable", data: { action: "download_model" } });
  await it.close();
});

it("tells the owner when neither hub nor registry can be reached, and can be tried again", async () => {
  const states: string[] = [];
  const it = local({ onState: ({ status }) => states.push(status) });
  await expect(it.download()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("could not be reached") });
  expect(it.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("could not be reached") });
  expect(states[0]).toBe("downloading");
  expect(states.at(-1)).toBe("failed");
  await it.close();
});

it("cancels a download and keeps offering it", async () => {
  const asked = Promise.withResolvers<void>();
  const it = local({
    fetch: (_url, { signal }) =>
      new Promise((_resolve, reject) => {
        asked.resolve();
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      }),
  });
  const running = it.download();
  await asked.promise;
  expect(it.state().status).toBe("downloading");
  it.cancelDownload();
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  expect(it.state()).toMatchObject({ status: "absent", problem: null });
  await it.close();
});

it("takes the owner's file, and says so when it is not there", async () => {
  const missing = local({ env: { LANCELOT_LOCAL_MODEL: join(dataDir, "mine.gguf") } });
  expect(missing.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("mine.gguf") });
  writeFileSync(join(dataDir, "mine.gguf"), "GGUF");
  expect(missing.state()).toMatchObject({ status: "absent", source: "owner", file: "mine.gguf", name: "mine" });
  expect(missing.state().totalBytes).toBeLessThan(100e6);
  await missing.close();
});

it("does nothing when it is turned off", async () => {
  mkdirSync(join(dataDir, "config"));
  writeFileSync(join(dataDir, "config/models.yaml"), "local: { enabled: false }\n");
  const it = local();
  expect(it.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("turned off") });
  await expect(it.model()).rejects.toMatchObject({ code: "unavailable" });
  await it.close();
});

it("continues after a pause with what is here, and says that it pauses", async () => {
  mkdirSync(join(dataDir, "models"));
  writeFileSync(join(dataDir, "models/Qwen3-4B-Instruct-2507-Q4_K_M.gguf.part"), Buffer.alloc(1_000));
  const paused = local({ machine: () => machineOf(8.2e9, 6e9) });
  expect(paused.state()).toMatchObject({ status: "absent", paused: true, doneBytes: 1_000 });
  expect(local({ machine: () => machineOf(4e9, 3e9) }).state()).toMatchObject({ paused: false });
  expect((await paused.remove()).paused).toBe(false);
  expect(readdirSync(join(dataDir, "models"))).toEqual([]);
});

it("says that a model's file was cut off, and what to do", () => {
  mkdirSync(join(dataDir, "models"));
  writeFileSync(join(dataDir, "models/tinyllama-1.1b-chat-IQ2_XXS.gguf"), "GGUF and no more");
  const it = local();
  expect(it.state()).toMatchObject({
    status: "failed",
    problem: expect.stringContaining("is damaged"),
    nextStep: "Download it again.",
  });
  expect(it.degraded()).toContain("is damaged: it is not the file that was downloaded. Download it again.");
});

it.each([
  ["a folder", (path: string) => mkdirSync(path), /is not a file/],
  ["another kind of file", (path: string) => writeFileSync(path, "PK and so on"), /is not a GGUF file/],
])("says that the owner's file is %s", (_what, make, problem) => {
  make(join(dataDir, "mine.gguf"));
  const it = local({ env: { LANCELOT_LOCAL_MODEL: join(dataDir, "mine.gguf") } });
  expect(it.state()).toMatchObject({
    status: "failed",
    problem: expect.stringMatching(problem),
    nextStep: expect.stringContaining("local.model"),
  });
});

it("is not degraded where there is none, or it is turned off", () => {
  expect(local().degraded()).toBeNull();
  mkdirSync(join(dataDir, "config"));
  writeFileSync(join(dataDir, "config/models.yaml"), "local: { enabled: false }\n");
  expect(local().degraded()).toBeNull();
});

it("leaves one core to the editor, and takes the owner's figures, those of the environment first", () => {
  const read = (env: Record<string, string>) => createSettings(configDir, dataDir, env)();
  expect(read({}).threads).toBeGreaterThanOrEqual(1);
  const named = { LOCAL_MODEL_CTX: "4096", LOCAL_MODEL_THREADS: "3", LOCAL_MODEL_GPU_LAYERS: "0" };
  expect(read(named)).toMatchObject({ contextSize: 4_096, threads: 3, gpuLayers: 0, problem: null });
  expect(read({ LOCAL_MODEL_THREADS: "many" }).problem).toContain("LOCAL_MODEL_THREADS");
  mkdirSync(join(dataDir, "config"));
  const settings = createSettings(configDir, dataDir, { LOCAL_MODEL_THREADS: "3" });
  expect(settings().contextSize).toBeNull();
  writeFileSync(join(dataDir, "config/models.yaml"), "local: { context: 1024, threads: 2, gpu_layers: 7 }\n");
  expect(settings()).toMatchObject({ contextSize: 1_024, threads: 3, gpuLayers: 7 });
});
