import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { chooseHubModel, readCatalog } from "../../../../agent-server/models/local/catalog.ts";
import { createLocal, type LocalDeps } from "../../../../agent-server/models/local/local.ts";
import { createRuntime } from "../../../../agent-server/models/local/runtime.ts";
import { readSettings } from "../../../../agent-server/models/local/settings.ts";

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

it.each([
  [4e9, false, "qwen3.5-2b"],
  [8.2e9, false, "qwen3-4b-instruct"],
  [64e9, false, "qwen3-4b-instruct"],
  [16.5e9, true, "qwen3-8b"],
  [8.2e9, true, "qwen3-4b-instruct"],
])("offers a model that fits %d bytes of memory, GPU %s: %s", (ramBytes, gpu, id) => {
  expect(chooseHubModel(readCatalog(configDir, dataDir), { ramBytes, gpu }).id).toBe(id);
});

it("prefers the owner's catalog, and says what is wrong with it", () => {
  mkdirSync(join(dataDir, "config"));
  writeFileSync(join(dataDir, "config/local-models.yaml"), "version: '1.0'\nhub: []\n");
  expect(() => readCatalog(configDir, dataDir)).toThrow(/local-models\.yaml cannot be used:.*hub/);
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
  expect(missing.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("mine.gguf is not there") });
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

it("leaves one core to the editor, and takes the owner's figures", () => {
  expect(readSettings(configDir, dataDir, {}).threads).toBeGreaterThanOrEqual(1);
  expect(
    readSettings(configDir, dataDir, { LOCAL_MODEL_CTX: "4096", LOCAL_MODEL_THREADS: "3", LOCAL_MODEL_GPU_LAYERS: "0" }),
  ).toMatchObject({
    contextSize: 4_096,
    threads: 3,
    gpuLayers: 0,
    problem: null,
  });
  expect(readSettings(configDir, dataDir, { LOCAL_MODEL_THREADS: "many" }).problem).toContain("LOCAL_MODEL_THREADS");
});
