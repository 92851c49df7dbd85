// @module-tag serial
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ContainerShell } from "../../agent-server/sandbox/container.ts";
import type { ContainerDeps } from "../../agent-server/sandbox/container/container-deps.ts";
import { makeCertificates } from "../support/engine/certificates.ts";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine, type TestEngine } from "../support/engine/engine.ts";
import { lyingBefore } from "../support/engine/false-engine.ts";
import { freePort } from "../support/free-port.ts";
import { type SshServer, startSshServer } from "../support/engine/ssh-server.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn, until } from "../support/sandbox/run.ts";
import { skippedWithout } from "../support/setup/machine.mjs";

const skipped = skippedWithout("engine");
const withoutSsh = skippedWithout("ssh");

describe.skipIf(skipped !== null)(`ways to an engine, and to an image${skipped === null ? "" : ` (skipped: ${skipped})`}`, () => {
  let engine: TestEngine;
  let fixture: SandboxFixture;
  let folder: string;
  let port: number;
  let ssh: SshServer | null = null;
  let certificates: { server: string; client: string };
  let open: ContainerShell[] = [];
  const start = (env: Record<string, string>, more: Partial<ContainerDeps> = {}) => {
    const shell = openContainer(fixture, "", isolationLimits, { env, ...more });
    open.push(shell);
    return shell;
  };
  const said = async (shell: ContainerShell) => (await runIn(shell, fixture.workspace, "cat README.md")).stdout;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "lancelot-engines-"));
    certificates = await makeCertificates(folder);
    port = await freePort();
    const { server } = certificates;
    const tls = { tlsverify: true, tlscacert: join(server, "ca.pem"), tlscert: join(server, "cert.pem"), tlskey: join(server, "key.pem") };
    engine = await startEngine({ hosts: [`tcp://127.0.0.1:${port}`], config: tls });
    fixture = createSandboxFixture();
    if (withoutSsh === null) ssh = await startSshServer();
  });
  afterEach(async () => {
    await Promise.all(open.map((shell) => shell.close()));
    open = [];
  });
  afterAll(async () => {
    ssh?.close();
    fixture.close();
    rmSync(folder, { recursive: true });
    await engine.stop();
  });

  it("mutual TLS, by the docker CLI's settings", async () => {
    const env = { DOCKER_HOST: `tcp://127.0.0.1:${port}`, DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: certificates.client };
    const shell = start(env);
    expect(await shell.probe()).toMatchObject({ status: "ok" });
    expect(await said(shell)).toBe("hello\n");
    expect(shell.state().engine).toMatchObject({ via: "DOCKER_HOST" });
  });

  it.each([
    ["without a certificate of one's own", () => ({ DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: folder })],
    ["with the engine's certificate as one's own authority's", () => ({ DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: fixture.workspace })],
    ["in the open", () => ({})],
  ])("mutual TLS is refused %s", async (_name, env) => {
    const shell = start({ DOCKER_HOST: `tcp://127.0.0.1:${port}`, ...env() });
    expect(await shell.probe()).toMatchObject({ status: "down" });
  });

  it("the docker context in use, with its certificates", async () => {
    const config = join(folder, "docker");
    const id = createHash("sha256").update("far").digest("hex");
    mkdirSync(join(config, "contexts/meta", id), { recursive: true });
    mkdirSync(join(config, "contexts/tls", id), { recursive: true });
    writeFileSync(join(config, "config.json"), JSON.stringify({ currentContext: "far" }));
    const meta = { Name: "far", Metadata: {}, Endpoints: { docker: { Host: `tcp://127.0.0.1:${port}`, SkipTLSVerify: false } } };
    writeFileSync(join(config, "contexts/meta", id, "meta.json"), JSON.stringify(meta));
    symlinkSync(certificates.client, join(config, "contexts/tls", id, "docker"));
    const shell = start({ DOCKER_CONFIG: config });
    expect(await said(shell)).toBe("hello\n");
    expect(shell.state().engine).toMatchObject({ via: "context far" });
  });

  describe.skipIf(withoutSsh !== null)(`over ssh${withoutSsh === null ? "" : ` (skipped: ${withoutSsh})`}`, () => {
    const server = (): SshServer => {
      if (ssh === null) throw new Error("The ssh server was not started.");
      return ssh;
    };

    it("ssh, by a forwarded socket that ends with it", async () => {
      const shell = start({ ...server().env, DOCKER_HOST: `ssh://root@127.0.0.1:${server().port}${engine.socket}` });
      expect(await shell.probe()).toMatchObject({ status: "ok" });
      expect(await said(shell)).toBe("hello\n");
      expect(shell.state().engine).toMatchObject({ remote: true });
      expect(await server().connections()).toBe(1);
      await shell.close();
      await until("the connection is closed", async () => (await server().connections()) === 0);
    });

    it("ssh without access is reported, without a prompt", async () => {
      const env = { ...server().env, PATH: process.env["PATH"] ?? "" };
      const shell = start({ ...env, DOCKER_HOST: `ssh://root@127.0.0.1:${server().port}${engine.socket}` });
      expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringContaining("ssh") as string });
    });
  });

  it.each([
    ["is not there", (path: string) => `${path.slice(0, -4)}none`],
    ["is another one", () => join(fixture.outside, "x".repeat(200))],
  ])("an engine elsewhere, where what is to be mounted %s, takes no commands", async (_name, elsewhere) => {
    const liar = await lyingBefore(
      folder,
      engine.socket,
      () => "pass",
      (text) =>
        text.replace(/"Source":"([^"]*\/sandbox\/[^"]*)"/, (_all, path: string) => {
          const other = elsewhere(path).slice(0, path.length);
          if (other.startsWith(fixture.outside)) writeFileSync(other, "a word of that machine\n");
          return `"Source":"${other}"`;
        }),
    );
    const shell = start({ DOCKER_HOST: `unix://${liar.socket}` });
    let started = 0;
    const running = runIn(shell, fixture.workspace, "echo x > never", { onStarted: () => (started += 1) });
    await expect(running).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("another machine") as string });
    expect(started).toBe(0);
    await shell.close();
    await liar.close();
  });

  describe("the shipped image", () => {
    const dockerfile = (text: string) => {
      mkdirSync(join(fixture.dataDir, "config/sandbox"), { recursive: true });
      writeFileSync(join(fixture.dataDir, "config/sandbox/Dockerfile"), text);
    };
    const shipped = (image = "shipped") =>
      start(
        { DOCKER_HOST: `unix://${engine.socket}` },
        { settings: { read: () => ({ value: sandboxSettings(isolationLimits, { image }), problem: null }) } },
      );

    it("is built by the engine with progress, used, and told to be old when its Dockerfile is another one", async () => {
      dockerfile(`FROM ${smallImage}\nRUN echo "made in the build" && echo built > /made\n`);
      const shell = shipped();
      expect(await shell.probe()).toMatchObject({ status: "down", nextStep: expect.stringContaining("Build Sandbox Image") as string });
      await expect(runIn(shell, fixture.workspace, "true")).rejects.toMatchObject({
        message: expect.stringContaining("Build Sandbox Image") as string,
      });
      const seen = new Set<string>();
      shell.onChange(() => seen.add(shell.state().image.state));
      await shell.build();
      expect(shell.state().image).toMatchObject({ state: "ready", source: "shipped", message: null });
      expect(shell.state().image.bytes).toBeGreaterThan(1_000_000);
      await until("it was told", () => seen.has("building") && seen.has("ready"));
      expect(await shell.probe()).toMatchObject({ status: "ok" });
      expect(await runIn(shell, fixture.workspace, "cat /made")).toMatchObject({ stdout: "built\n" });
      const before = shell.state().container.id;
      dockerfile(`FROM ${smallImage}\nRUN echo again > /made\n`);
      expect(await shell.probe()).toMatchObject({ status: "degraded", nextStep: expect.stringContaining("Build Sandbox Image") as string });
      await shell.build();
      expect(await runIn(shell, fixture.workspace, "cat /made")).toMatchObject({ stdout: "again\n" });
      expect(shell.state().container.id).not.toBe(before);
    });

    it("that cannot be built says the engine's last words, and commands continue in the one before", async () => {
      dockerfile(`FROM ${smallImage}\nRUN echo "this went wrong" >&2; exit 7\n`);
      const shell = shipped();
      await expect(shell.build()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(/could not be built .*7/) as string,
      });
      expect(shell.state().image).toMatchObject({ state: "failed", message: expect.stringContaining("could not be built") as string });
      expect(await runIn(shell, fixture.workspace, "cat /made")).toMatchObject({ stdout: "again\n" });
    });

    it("is no longer built when the owner stops it", async () => {
      dockerfile(`FROM ${smallImage}\nRUN echo begun; sleep 600\n`);
      const shell = shipped();
      const building = shell.build();
      building.catch(() => {});
      await until("the build has begun", () => shell.state().image.message?.includes("begun"));
      await expect(shell.build()).rejects.toMatchObject({ code: "conflict" });
      shell.cancelBuild();
      await expect(building).rejects.toMatchObject({ message: expect.stringContaining("stopped") as string });
      expect(shell.state().image.state).toBe("failed");
      const docker = new Dockerode({ socketPath: engine.socket });
      await until("the engine ended it", async () => (await docker.listContainers()).length === 0);
    });

    it.each(["registry.invalid/none:1", "dev_container"])("may be one that cannot be had: %s", async (image) => {
      writeFileSync(
        join(fixture.workspace, ".devcontainer.json"),
        '{\n  // of the repository\n  "image": "registry.invalid/theirs:2",\n}\n',
      );
      const shell = shipped(image);
      expect(await shell.probe()).toMatchObject({ status: "down", message: expect.stringContaining("registry.invalid/") as string });
      await expect(shell.build()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("could not be pulled") as string,
      });
      rmSync(join(fixture.workspace, ".devcontainer.json"));
    });
  });
});
