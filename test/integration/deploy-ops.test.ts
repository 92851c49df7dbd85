import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deploy } from "../../agent-server/tools/catalog/deploy.ts";
import { type PlainShell, plainShell } from "../support/tools/plain-shell.ts";
import { createToolsFixture, type ToolsFixture, type ToolsFixtureOptions } from "../support/tools-fixture.ts";

let base = "";
let fixture: ToolsFixture;
let shell: PlainShell;
let asked: { title: string; detail: string }[] = [];
let network = false;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-deploy-")));
  mkdirSync(join(base, "proj/packages"), { recursive: true });
  mkdirSync(join(base, "data/config"), { recursive: true });
  shell = plainShell("one");
  asked = [];
  network = false;
  open();
});
afterEach(async () => {
  await fixture.tools.close(0);
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

function open(options: ToolsFixtureOptions = {}): void {
  fixture = createToolsFixture({
    base,
    catalog: [deploy],
    posture: "autonomous",
    given: { shells: [shell], configDir: join(import.meta.dirname, "../../config"), flag: (name) => name === "TOOLS_NETWORK" && network },
    wrap: (real) => ({
      ...real,
      authorize: (intent, question, context) => {
        asked.push(question);
        return real.authorize(intent, question, context);
      },
    }),
    ...options,
  });
  fixture.answer("allow_once");
}

const declare = (yaml: string, workspace = join(base, "proj")) =>
  writeFileSync(
    join(base, "data/config/deploy.yaml"),
    `version: 1\nworkspaces:\n  ${JSON.stringify(workspace)}:\n${yaml.replaceAll(/^/gm, "    ")}\n`,
  );
const run = (action: string, target?: string) => fixture.run("deploy", { action, ...(target === undefined ? {} : { target }) });
const receipt = (id: string | null) => fixture.ledger.get(id ?? "");

describe("deploy", () => {
  it.each([["build"], ["test"], ["package"]])("%s: runs what is declared, in its folder, at T2", async (action) => {
    declare(`${action}: { command: "echo done; touch built", folder: packages }`);
    const outcome = await run(action);
    expect(outcome.text).toMatch(/^Exit code 0[^]*done/);
    expect(existsSync(fixture.path("packages/built"))).toBe(true);
    expect(receipt(outcome.receiptId)).toMatchObject({
      status: "success",
      riskTier: "T2",
      metadata: { provider: { name: "declared-commands" } },
      outputs: { exitCode: 0, provider: { name: "one" } },
    });
    expect(shell.begun).toEqual(["echo done; touch built"]);
  });

  it("what it changed in the workspace goes back with undo", async () => {
    fixture.write("a.txt", "before\n");
    declare("build: echo after > a.txt && echo new > b.txt");
    await run("build");
    expect(fixture.read("a.txt")).toBe("after\n");
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(fixture.read("a.txt")).toBe("before\n");
    expect(existsSync(fixture.path("b.txt"))).toBe(false);
  });

  it("a command that fails is a failure, with what it said", async () => {
    declare("test: echo 1 test failed >&2; exit 3");
    const outcome = await run("test");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("Exit code 3");
    expect(outcome.text).toContain("1 test failed");
    expect(receipt(outcome.receiptId)).toMatchObject({ status: "failure", errorMessage: "Exit code 3" });
  });

  it("deploy: asks each time, once, with the command, the look afterwards and where it runs", async () => {
    declare(`targets:\n  staging:\n    deploy: { command: echo to staging, verify: "test -f ok" }`);
    fixture.write("ok", "");
    for (const time of [1, 2]) {
      const outcome = await run("deploy", "staging");
      expect(outcome.isError).toBe(false);
      expect(receipt(outcome.receiptId)).toMatchObject({ status: "success", riskTier: "T3" });
      expect(asked).toHaveLength(time);
    }
    expect(asked[0]?.title).toBe("Deploy staging");
    expect(asked[0]?.detail).toMatch(/^echo to staging\n[^]*sandbox[^]*Network: none[^]*Verification:\ntest -f ok$/);
    expect(shell.begun).toEqual(["echo to staging", "test -f ok", "echo to staging", "test -f ok"]);
  });

  it("deploy: nothing runs when the owner says no", async () => {
    declare("deploy: echo gone");
    fixture.answer("deny");
    expect((await run("deploy")).card.status).toBe("denied");
    expect(shell.begun).toEqual([]);
  });

  it("deploy: what the declared look finds is told, and the task hears that it failed", async () => {
    declare(`deploy: { command: echo out, verify: "echo the page does not answer; exit 1" }`);
    const outcome = await run("deploy");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("exited with 1: the page does not answer");
    expect(receipt(outcome.receiptId)?.status).toBe("failure");
  });

  it("deploy: where nothing is declared to look, the owner is told that only the exit code counts", async () => {
    declare("deploy: echo out");
    await run("deploy");
    expect(asked[0]?.detail).toContain("exit code");
  });

  it.each<[string, string, string | undefined, RegExp]>([
    ["nothing at all", "build: echo", undefined, /command to deploy\. Declared: build\..*config\/deploy\.yaml.*"deploy: the command"/],
    [
      "nothing for the target",
      "deploy: echo",
      "staging",
      /command to deploy for staging\. Declared: deploy\..*targets: \{ staging: \{ deploy: the command \} \}/,
    ],
    ["a target of another kind of name", "targets: { staging: { deploy: echo } }", "constructor", /Declared: deploy \(staging\)/],
  ])("says how to declare it where there is %s", async (_, yaml, target, expectedText) => {
    declare(yaml);
    const outcome = await run("deploy", target);
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(expectedText);
    expect(shell.begun).toEqual([]);
  });

  it("counts what the owner declared, not what the repository says of itself", async () => {
    mkdirSync(fixture.path("config"));
    fixture.write("config/deploy.yaml", "version: 1\nworkspaces: {}\nbuild: echo mine\n");
    fixture.write("deploy.yaml", "build: echo mine\n");
    expect((await run("build")).error?.code).toBe("not_found");
    expect(shell.begun).toEqual([]);
  });

  it("counts for the workspace it is declared for, also by a link to it, and no other", async () => {
    declare("build: echo other", join(base, "elsewhere"));
    expect((await run("build")).error?.code).toBe("not_found");
    symlinkSync(join(base, "proj"), join(base, "link"));
    declare("build: echo mine", join(base, "link"));
    expect((await run("build")).text).toContain("mine");
  });

  it.each<[string, string, RegExp]>([
    ["is no YAML", "build: [", /config\/deploy\.yaml/],
    ["has a word nobody knows", "built: echo", /config\/deploy\.yaml/],
    ["verifies what is no deployment", "build: { command: echo, verify: echo }", /config\/deploy\.yaml/],
    ["gives no command", "build: { folder: . }", /config\/deploy\.yaml/],
    ["runs for a day", "build: { command: echo, timeout_seconds: 86400 }", /config\/deploy\.yaml/],
  ])("runs nothing while the file %s, and says so", async (_, yaml, expectedText) => {
    declare(yaml);
    expect((await run("build")).text).toMatch(expectedText);
    expect(shell.begun).toEqual([]);
    await fixture.tools.routing.health();
    expect(fixture.tools.routing.providers().find(({ id }) => id === "declared-commands")?.health.status).toBe("down");
    expect((await fixture.tools.routing.doctor({})).find(({ id }) => id === "settings-deploy.yaml")?.message).toMatch(expectedText);
  });

  it("counts again at once when the file is corrected, however often it was asked meanwhile", async () => {
    declare("build: [");
    for (let time = 0; time < 4; time += 1) expect((await run("build")).isError).toBe(true);
    declare("build: echo mended");
    expect((await run("build")).text).toContain("mended");
  });

  it.each<[string, string, RegExp]>([
    ["what policy refuses", "build: rm -rf /", /delete/i],
    ["a look afterwards that policy refuses", "deploy: { command: echo, verify: rm -rf / }", /delete/i],
    ["in a folder outside", "build: { command: echo, folder: ../.. }", /\.\.\/\.\.|outside/],
    ["in a folder that is not there", "build: { command: echo, folder: nowhere }", /nowhere/],
    ["with the network while it is off", "build: { command: echo, network: true }", /TOOLS_NETWORK/],
  ])("does not run %s", async (_, yaml, expectedText) => {
    declare(yaml);
    const outcome = await run(yaml.startsWith("deploy") ? "deploy" : "build");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(expectedText);
    expect(shell.begun).toEqual([]);
  });

  it("asks for a network that was declared, and tells the owner", async () => {
    network = true;
    declare("deploy: { command: echo, network: true }");
    await run("deploy");
    expect(asked[0]?.detail).toContain("config/network.yaml");
  });

  it("runs nothing in a restricted workspace", async () => {
    fixture.close();
    open({ trusted: false });
    declare("build: echo");
    expect((await run("build")).card.status).toBe("denied");
    expect(shell.begun).toEqual([]);
  });

  it("says what to do where no command can be run", async () => {
    shell.fault = "down";
    declare("build: echo");
    const outcome = await run("build");
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain("one is not running. Start one.");
  });
});
