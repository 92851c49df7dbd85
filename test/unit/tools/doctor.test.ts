import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DoctorLine, HealthStatus, ProviderInfo, SandboxState } from "../../../agent-server/contract/providers.ts";
import { runChecks } from "../../../agent-server/tools/routing/doctor.ts";
import { plainShell } from "../../support/tools/plain-shell.ts";
import { createToolsFixture } from "../../support/tools-fixture.ts";

let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-doctor-"));
});
afterEach(() => {
  chmodSync(dataDir, 0o700);
  rmSync(dataDir, { recursive: true, force: true });
});

const sandbox: SandboxState = {
  place: "container",
  containment: "transactional",
  message: "Commands run in a container.",
  nextStep: null,
  engine: { name: "docker", version: "28.1.0", via: "the socket", remote: false },
  image: { name: "lancelot-sandbox", source: "shipped", state: "ready", bytes: 300 * 1024 ** 2, message: null },
  container: { state: "running", id: "x", since: null },
  osSandbox: { name: "bubblewrap", version: "0.8.0" },
  limits: { memoryBytes: 1, cpus: 1, processes: 1, timeoutMs: 1, outputBytes: 1 },
  network: "off",
};
const provider = (id: string, status: HealthStatus): ProviderInfo => ({
  id,
  title: id,
  version: null,
  capabilities: [],
  priority: 10,
  local: true,
  flag: null,
  health: { status, message: `${id} is ${status}.`, nextStep: status === "ok" ? null : `Mend ${id}.`, checkedAt: null },
});

async function lines(
  more: Partial<SandboxState> = {},
  of: Partial<Parameters<typeof runChecks>[0]> = {},
): Promise<Map<string, DoctorLine>> {
  const providers = [provider("git", "ok"), provider("ripgrep", "ok")];
  const found = await runChecks({ providers, sandbox: { ...sandbox, ...more }, dataDir, networkEnabled: true, problems: {}, ...of });
  return new Map(found.map((line) => [line.id, line]));
}

describe("the doctor", () => {
  it("reports no problem when everything is available", async () => {
    const found = await lines();
    expect([...found.values()].filter(({ status, id }) => status !== "ok" && id !== "disk")).toEqual([]);
    expect([...found.keys()]).toEqual([
      "commands",
      "containment",
      "engine",
      "image",
      "os-sandbox",
      "git",
      "ripgrep",
      "disk",
      "data-folder",
      "network",
    ]);
    expect(found.get("engine")?.message).toContain("Docker 28.1.0");
    expect(found.get("image")?.message).toContain("300 MB");
  });

  const none = { engine: null, osSandbox: null, place: null, message: "Nothing can run commands.", nextStep: "Install one." } as const;
  it.each<[string, Partial<SandboxState>, string, Partial<DoctorLine>]>([
    ["no place for commands", none, "commands", { status: "missing", message: "Nothing can run commands.", nextStep: "Install one." }],
    ["commands that work in the workspace", { containment: "watched" }, "containment", { status: "warning" }],
    ["commands without containment", { containment: "host" }, "containment", { status: "warning", action: "open_flags" }],
    ["commands outside a sandbox", { place: "host" }, "commands", { status: "warning", action: "open_flags" }],
    [
      "no engine, and nothing else",
      none,
      "engine",
      { status: "missing", nextStep: expect.stringContaining("Install Docker or Podman") as string },
    ],
    [
      "no engine, and bubblewrap",
      { engine: null },
      "engine",
      { status: "warning", message: expect.stringContaining("bubblewrap") as string },
    ],
    ["no sandbox of the system beside an engine", { osSandbox: null }, "os-sandbox", { status: "warning" }],
    ["no sandbox of the system at all", none, "os-sandbox", { status: "missing", nextStep: expect.stringMatching(/\.$/) as string }],
    ["no image", { image: { ...sandbox.image, state: "missing" } }, "image", { status: "missing", action: "build_image" }],
    [
      "an image that could not be built",
      { image: { ...sandbox.image, state: "failed", message: "no space" } },
      "image",
      { status: "missing", message: expect.stringContaining("no space") as string, action: "build_image" },
    ],
    [
      "an image that is being built",
      { image: { ...sandbox.image, state: "building", message: "step 2" } },
      "image",
      { status: "warning", message: expect.stringContaining("step 2") as string },
    ],
    ["an image that was not looked for", { image: { ...sandbox.image, state: "unknown" } }, "image", { status: "warning" }],
    ["an image nobody needs", { engine: null }, "image", { status: "warning", action: null }],
  ])("gives the next step for %s", async (_, more, id, expected) => {
    expect((await lines(more)).get(id)).toMatchObject(expected);
  });

  it.each<[string, HealthStatus, DoctorLine["status"]]>([
    ["git", "down", "missing"],
    ["git", "degraded", "warning"],
    ["ripgrep", "down", "missing"],
    ["ripgrep", "unknown", "warning"],
  ])("reports %s when it is %s", async (id, status, expected) => {
    expect((await lines({}, { providers: [provider(id, status)] })).get(id)).toMatchObject({
      status: expected,
      message: `${id} is ${status}.`,
      nextStep: `Mend ${id}.`,
    });
  });

  it("reports network access that is off, with the flag that turns it on", async () => {
    expect((await lines({}, { networkEnabled: false })).get("network")).toMatchObject({
      status: "warning",
      nextStep: expect.stringContaining("TOOLS_NETWORK") as string,
      action: "open_flags",
    });
  });

  it("reports configuration files that cannot be used", async () => {
    expect(
      (await lines({}, { problems: { "tools.yaml": "Your config/tools.yaml cannot be used.", "deploy.yaml": null } })).get(
        "settings-tools.yaml",
      ),
    ).toMatchObject({
      status: "warning",
      message: "Your config/tools.yaml cannot be used.",
    });
  });

  it("reports a missing data folder", async () => {
    const found = await lines({}, { dataDir: join(dataDir, "gone") });
    expect(found.get("data-folder")).toMatchObject({ status: "missing" });
    expect(found.get("disk")).toMatchObject({ status: "warning" });
  });

  it("checks all providers first, and reports no paths", async () => {
    const fixture = createToolsFixture({ given: { shells: [plainShell("one"), plainShell("two", { fault: "down" })] } });
    const found = await fixture.tools.routing.doctor({});
    expect(found.find(({ id }) => id === "commands")).toMatchObject({ status: "ok", message: "one works." });
    expect(found.find(({ id }) => id === "git")).toMatchObject({ status: "ok", message: expect.stringMatching(/^Git \d/) as string });
    expect(JSON.stringify(found)).not.toContain(fixture.dataDir);
    expect(fixture.tools.routing.providers().every(({ health }) => health.status !== "unknown")).toBe(true);
    fixture.close();
  });
});

describe("where commands run", () => {
  it("is unknown before the first check, then has a next step", async () => {
    const shell = plainShell("one");
    const fixture = createToolsFixture({ given: { shells: [shell] } });
    const { routing } = fixture.tools;
    expect(routing.sandbox.state()).toMatchObject({ place: null, engine: null });
    expect(routing.degraded()).toEqual([]);
    await routing.health();
    expect(routing.sandbox.state()).toMatchObject({
      place: "os_sandbox",
      message: "one works.",
      osSandbox: { name: "one", version: "1.0" },
    });
    shell.fault = "down";
    expect((await routing.health()).ok).toBe(false);
    expect(routing.sandbox.state()).toMatchObject({ place: null, message: "one is not running. Start one.", osSandbox: null });
    expect(routing.degraded()).toEqual(["one is not running. Start one."]);
    fixture.close();
  });

  it("image actions need a container engine", async () => {
    const fixture = createToolsFixture();
    for (const act of ["build", "cancelBuild", "restart"] as const)
      await expect(fixture.tools.routing.sandbox[act]()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("Install Docker or Podman") as string,
      });
    expect(fixture.tools.routing.sandbox.state()).toMatchObject({
      place: null,
      message: expect.stringContaining("Install Docker, Podman or bubblewrap") as string,
    });
    fixture.close();
  });

  it("the state comes from the engine, and its changes are announced", async () => {
    const done: string[] = [];
    const heard: (() => void)[] = [];
    const topics: string[] = [];
    const act = (name: string) => () => {
      done.push(name);
      return Promise.resolve();
    };
    const control = {
      state: () => ({
        engine: sandbox.engine,
        image: sandbox.image,
        container: sandbox.container,
        limits: sandbox.limits,
        network: sandbox.network,
      }),
      build: act("build"),
      cancelBuild: act("cancelBuild"),
      restart: act("restart"),
      onChange: (listener: () => void) => {
        heard.push(listener);
        return () => undefined;
      },
    };
    const fixture = createToolsFixture({
      given: {
        sandbox: { shells: [plainShell("container", { place: "container" })], control, learnSecrets: () => Promise.resolve() },
        emit: (topic) => void topics.push(topic),
      },
    });
    const { sandbox: at } = fixture.tools.routing;
    for (const name of ["build", "cancelBuild", "restart"] as const) expect((await at[name]()).engine?.name).toBe("docker");
    expect(done).toEqual(["build", "cancelBuild", "restart"]);
    for (const listener of heard) listener();
    expect(topics).toEqual(["sandbox"]);
    expect(fixture.tools.routing.providers().find(({ id }) => id === "container")?.local).toBe(true);
    control.state = () => ({ ...sandbox, engine: { name: "docker", version: "28", via: "ssh", remote: true } });
    expect(fixture.tools.routing.providers().find(({ id }) => id === "container")?.local).toBe(false);
    fixture.close();
  });
});
