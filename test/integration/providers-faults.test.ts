import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import * as z from "zod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { fetchUrl } from "../../agent-server/tools/catalog/fetch-url.ts";
import { gitStatus } from "../../agent-server/tools/catalog/git-status.ts";
import { listFiles } from "../../agent-server/tools/catalog/list-files.ts";
import { readFile } from "../../agent-server/tools/catalog/read-file.ts";
import { searchWorkspace } from "../../agent-server/tools/catalog/search-workspace.ts";
import { createOsShell } from "../../agent-server/sandbox/os-sandbox.ts";
import { runInShell } from "../../agent-server/tools/command/shell-run.ts";
import { defineTool } from "../../agent-server/tools/tool.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { type Fault, plainShell } from "../support/tools/plain-shell.ts";
import { openWeb } from "../support/tools/web-site.ts";
import { createToolsFixture, ripgrepPath, type ToolsFixture } from "../support/tools-fixture.ts";
import { skippedWithout } from "../support/setup/machine.mjs";

/** Runs a command as tools that run commands do, without what is not about providers. */
const sh = defineTool({
  name: "sh",
  description: "Runs a command.",
  args: z.strictObject({ command: z.string() }),
  capability: "shell_exec",
  action: "run",
  baseTier: "T2",
  actionType: "tool_call",
  provider: { name: "shell", version: "1" },
  routed: true,
  title: ({ command }) => command,
  reads: () => [],
  plan: ({ command }, scope) =>
    Promise.resolve({
      kind: "effect",
      steps: [{ capability: "shell_exec", action: "run", args: { command } }],
      question: { title: command, detail: command },
      touches: [],
      run: async ({ receiptId }) => {
        let said = "";
        const { value, provider, tried } = await runInShell(
          scope.runOnProvider,
          {
            command,
            cwd: scope.workspace,
            timeoutMs: 10_000,
            outputBytes: 1000,
            network: false,
            onOutput: (_stream, bytes) => (said += Buffer.from(bytes).toString()),
          },
          {
            questId: scope.call.quest,
            parentId: receiptId,
            signal: scope.call.signal,
            beginMs,
            ...(scope.chosen === null ? {} : { planned: scope.chosen }),
          },
        );
        return {
          value: { kind: "answer", text: `${value.ended} ${String(value.exitCode)}: ${said}`, isError: value.ended !== "exit" },
          outputs: { provider, tried },
          ...(value.ended === "exit" ? {} : { failure: value.ended }),
        };
      },
    }),
});

/** How long (ms) a place may take to start a command. A real sandbox on a busy machine takes longer than the places of this test. */
let beginMs = 3_000;
const times = { timeout: 3_000, cooldown: 60_000, grace: 200 };
let base = "";
let fixture: ToolsFixture;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-faults-")));
});
afterEach(async () => {
  await fixture.tools.close(0);
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

function receipts(name: string): Receipt[] {
  return fixture.ledger
    .search({ limit: 200 })
    .items.filter(({ actionName }) => actionName === name)
    .toReversed();
}
function healthOf(id: string) {
  return fixture.tools.routing.providers().find((provider) => provider.id === id)?.health;
}

describe("places for commands", () => {
  function open(...faults: [string, Fault, "host"?][]) {
    const shells = faults.map(([id, fault, place]) => plainShell(id, { fault, ...(place === undefined ? {} : { place }) }));
    fixture = createToolsFixture({
      base,
      catalog: [sh],
      given: { shells, healthTimes: times, flag: (name) => name === "TOOLS_HOST_EXECUTION" },
    });
    fixture.answer("allow_once");
    return shells;
  }

  /** What one fault of the first place comes to while there is a second one that works. */
  const table: [Fault, { does: "first" | "second" | "neither"; expectedText: RegExp; failover: boolean; health: string }][] = [
    ["none", { does: "first", expectedText: /exit 0: hello/, failover: false, health: "ok" }],
    ["down", { does: "second", expectedText: /exit 0: hello/, failover: false, health: "down" }],
    ["silent", { does: "second", expectedText: /exit 0: hello/, failover: false, health: "down" }],
    ["broken_probe", { does: "second", expectedText: /exit 0: hello/, failover: false, health: "down" }],
    ["liar", { does: "second", expectedText: /exit 0: hello/, failover: true, health: "ok" }],
    ["bug", { does: "second", expectedText: /exit 0: hello/, failover: true, health: "ok" }],
    ["slow", { does: "second", expectedText: /exit 0: hello/, failover: true, health: "ok" }],
    ["fails_begun", { does: "first", expectedText: /failed after it had started.*one broke/, failover: false, health: "ok" }],
    ["bug_begun", { does: "first", expectedText: /failed after it had started/, failover: false, health: "ok" }],
    ["lost", { does: "first", expectedText: /lost null/, failover: false, health: "ok" }],
  ];

  it.each(table)(
    "%s: the command is run once or not at all, and the receipts tell by whom",
    async (fault, { does, expectedText, failover, health }) => {
      const [one, two] = open(["one", fault], ["two", "none"]);
      const outcome = await fixture.run("sh", { command: "echo hello; echo x >> ran" });
      expect(outcome.text).toMatch(expectedText);
      expect([one?.begun.length, two?.begun.length]).toEqual(does === "first" ? [1, 0] : does === "second" ? [0, 1] : [0, 0]);
      expect(healthOf("one")?.status).toBe(health);
      const own = fixture.ledger.get(outcome.receiptId ?? "");
      const planned = fault === "down" || fault === "silent" || fault === "broken_probe" ? "two" : "one";
      expect(own?.metadata).toMatchObject({ provider: { name: planned, version: "1.0" }, route: { reason: expect.any(String) as string } });
      const failovers = receipts("route.failover");
      expect(failovers).toHaveLength(failover ? 1 : 0);
      if (failover) {
        expect(failovers[0]).toMatchObject({ actionType: "system", parentId: own?.id, questId: "q1", inputs: { from: "one", to: "two" } });
        expect(own?.outputs).toMatchObject({ provider: { name: "two", version: "1.0" }, tried: [{ provider: "one" }] });
      }
    },
  );

  it.each<[Fault, RegExp]>([
    ["down", /one is not running\. Start one\./],
    ["silent", /within/],
    ["broken_probe", /could not be checked/],
    ["liar", /^one cannot begin\. /],
    ["bug", /failed.* No other provider/],
    ["slow", /within/],
    ["fails_begun", /failed after it had started/],
  ])("%s alone: a clear error", async (fault, expectedText) => {
    open(["one", fault]);
    const outcome = await fixture.run("sh", { command: "echo hello" });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(expectedText);
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.status).toBe("failure");
  });

  it("one that neither begins nor stops is not taken over: it might begin yet", async () => {
    const [, two] = open(["one", "deaf"], ["two", "none"]);
    const outcome = await fixture.run("sh", { command: "echo hello" });
    expect(outcome.error?.code).toBe("unavailable");
    expect(two?.begun).toEqual([]);
  });

  it("one that begins after it was given up does nothing", async () => {
    const [one] = open(["one", "slow"], ["two", "none"]);
    await fixture.run("sh", { command: "echo hello" });
    expect(one?.begun).toEqual([]);
  });

  it("one that lies about its health is excluded after its failures, and returns when it works", async () => {
    const [one, two] = open(["one", "liar"], ["two", "none"]);
    for (let time = 0; time < 3; time += 1) await fixture.run("sh", { command: "true" });
    expect(healthOf("one")).toMatchObject({ status: "down", message: expect.stringContaining(" 3 ") as string });
    expect(receipts("health_degraded")).toMatchObject([{ inputs: { provider: "one", from: "ok", to: "down" }, actionType: "system" }]);
    await fixture.run("sh", { command: "true" });
    expect(receipts("route.failover")).toHaveLength(3);
    // It says that it is well again: one more lie is enough now.
    await fixture.tools.routing.health();
    expect(healthOf("one")?.status).toBe("degraded");
    await fixture.run("sh", { command: "true" });
    expect(healthOf("one")?.status).toBe("down");
    if (one !== undefined) one.fault = "none";
    await fixture.tools.routing.health();
    await fixture.run("sh", { command: "echo back" });
    expect(healthOf("one")?.status).toBe("ok");
    expect(one?.begun).toEqual(["echo back"]);
    expect(two?.begun).toHaveLength(5);
    expect(receipts("health_recovered").map(({ inputs }) => inputs["to"])).toEqual(["degraded", "degraded", "ok"]);
  });

  it("one that came up meanwhile is found without waiting for the next look", async () => {
    const [one] = open(["one", "down"]);
    expect((await fixture.run("sh", { command: "true" })).isError).toBe(true);
    if (one !== undefined) one.fault = "none";
    expect((await fixture.run("sh", { command: "true" })).isError).toBe(false);
    expect(receipts("health_recovered")).toMatchObject([{ inputs: { provider: "one", from: "down", to: "ok" } }]);
  });

  it("what runs outside the sandbox never steps in for what failed inside it", async () => {
    const [, host] = open(["one", "liar"], ["host", "none", "host"]);
    expect(await fixture.run("sh", { command: "true" })).toMatchObject({ isError: true, error: { code: "unavailable" } });
    expect(host?.begun).toEqual([]);
  });

  it("a stop goes through whatever the place does", async () => {
    open(["one", "deaf"]);
    const stop = new AbortController();
    const running = fixture.run("sh", { command: "true" }, { signal: stop.signal });
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe.skipIf(process.platform === "win32")("git and ripgrep, as programs that something happens to", () => {
  const path = process.env["PATH"] ?? "";
  let faulty = "";
  beforeEach(() => {
    faulty = join(base, "bin");
    mkdirSync(faulty);
    mkdirSync(join(base, "proj"), { recursive: true });
    execFileSync("git", ["init", "-q"], { cwd: join(base, "proj") });
  });
  afterEach(() => {
    process.env["PATH"] = path;
  });

  /** A program that does what its script says, or what the real one does. */
  function program(name: string, script: string): string {
    const real = name === "rg" ? ripgrepPath : execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    const file = join(faulty, name);
    // Another process writes it: a program that this one starts meanwhile would hold the file open, and the system runs no such file.
    execFileSync("sh", ["-c", 'cat > "$1" && chmod 755 "$1"', "sh", file], { input: `#!/bin/sh\n${script}\nexec ${real} "$@"\n` });
    return file;
  }
  /** @param timeout in ms for a program that is looked at; real ones take long on a busy machine */
  function open(rg = ripgrepPath, timeout = 120_000) {
    fixture = createToolsFixture({
      base,
      catalog: [gitStatus, searchWorkspace, listFiles, readFile],
      given: { healthTimes: { ...times, timeout }, ripgrepPath: rg },
    });
    fixture.write("a.txt", "alpha\n");
  }
  const status = () => fixture.run("git_status", {});
  const search = () => fixture.run("search_workspace", { query: "alpha" });

  it("work, and are named on the receipt with the version they say", async () => {
    open();
    const [git, rg] = [await status(), await search()];
    const version = /(\d+\.\d+(\.\d+)?)/.exec(execFileSync("git", ["--version"], { encoding: "utf8" }))?.[1];
    expect(fixture.ledger.get(git.receiptId ?? "")?.metadata).toMatchObject({ provider: { name: "git", version } });
    expect(fixture.ledger.get(rg.receiptId ?? "")?.metadata["provider"]).toMatchObject({ name: "ripgrep" });
  });

  it("git that is not there: a clear error; there again: it works at the next call", async () => {
    process.env["PATH"] = faulty;
    open();
    expect((await status()).text).toContain("Git");
    process.env["PATH"] = path;
    expect((await status()).isError).toBe(false);
    expect(receipts("health_recovered")).toMatchObject([{ inputs: { provider: "git" } }]);
  });

  it("git that goes away between two calls: a clear error, a receipt of it", async () => {
    open();
    await status();
    process.env["PATH"] = faulty;
    expect((await status()).text).toContain("Git");
    await expect.poll(() => receipts("health_degraded")).toMatchObject([{ inputs: { provider: "git", from: "ok", to: "down" } }]);
  });

  it("git that is ended mid-call: a clear error, nothing taken for an answer", async () => {
    program("git", 'case "$*" in *status*) kill -9 $$;; esac');
    process.env["PATH"] = `${faulty}${delimiter}${path}`;
    open();
    const outcome = await status();
    expect(outcome.isError).toBe(true);
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.status).toBe("failure");
  });

  it("git that hangs when it is looked at: down, with a message", async () => {
    program("git", 'case "$1" in --version) sleep 30;; esac');
    process.env["PATH"] = `${faulty}${delimiter}${path}`;
    open(ripgrepPath, times.timeout);
    expect((await status()).text).toMatch(/^Git /);
  });

  it("git that hangs in a call ends with the owner's stop", async () => {
    program("git", `case "$*" in *status*) echo x > ${join(base, "begun")}; exec sleep 30;; esac`);
    process.env["PATH"] = `${faulty}${delimiter}${path}`;
    open();
    const stop = new AbortController();
    const running = fixture.run("git_status", {}, { signal: stop.signal });
    await expect.poll(() => execFileSync("sh", ["-c", `ls ${base}`], { encoding: "utf8" })).toContain("begun");
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
  });

  it.each<[string, () => string, RegExp]>([
    ["is not there", () => join(faulty, "rg"), /ripgrep.*Reinstall/],
    [
      "cannot be executed",
      () => {
        const file = program("rg", "");
        chmodSync(file, 0o644);
        return file;
      },
      /ripgrep.*Reinstall/,
    ],
    ["is ended mid-call", () => program("rg", 'case "$*" in *--regexp*) kill -9 $$;; esac'), /ended|killed|terminated|interrupted/],
  ])("ripgrep that %s: a clear error", async (_, make, expectedText) => {
    open(make());
    const outcome = await search();
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(expectedText);
  });

  it("ripgrep that says it is well and is ended each time is found out, and comes back", async () => {
    const file = program("rg", 'case "$*" in *--regexp*) kill -9 $$;; esac');
    open(file);
    for (let time = 0; time < 3; time += 1) expect((await search()).isError).toBe(true);
    expect(healthOf("ripgrep")?.status).toBe("down");
    expect((await search()).text).toContain(" 3 ");
    program("rg", "");
    await fixture.tools.routing.health();
    expect((await search()).text).toContain("a.txt:1: alpha");
    expect(healthOf("ripgrep")?.status).toBe("ok");
  });

  it("the workspace that goes away: what is read is told as gone, and it is down", async () => {
    open();
    rmSync(fixture.workspace, { recursive: true });
    expect((await fixture.run("read_file", { path: "a.txt" })).isError).toBe(true);
    await fixture.tools.routing.health();
    expect(healthOf("file-ops")).toMatchObject({ status: "down", nextStep: expect.any(String) as string });
  });
});

// Elsewhere there is no bubblewrap, and Seatbelt has no process of its own to end.
const withoutSandbox = skippedWithout("sandbox");
describe.skipIf(withoutSandbox !== null)("bubblewrap itself, with another place beside it", () => {
  const path = process.env["PATH"] ?? "";
  beforeEach(() => {
    beginMs = 120_000;
  });
  afterEach(() => {
    process.env["PATH"] = path;
    beginMs = 3_000;
  });

  function open() {
    mkdirSync(join(base, "proj"), { recursive: true });
    mkdirSync(join(base, "data"), { recursive: true });
    const real = createOsShell({
      workspace: join(base, "proj"),
      dataDir: join(base, "data"),
      limits: () => isolationLimits,
      protectedPaths: () => [],
      masked: () => Promise.resolve({ files: [], folders: [] }),
      egress: null,
      log: () => undefined,
    });
    const two = plainShell("two");
    fixture = createToolsFixture({ base, catalog: [sh], given: { shells: [real, two], healthTimes: { timeout: 120_000 } } });
    fixture.answer("allow_once");
    return two;
  }

  /** The sandboxes of commands that run in this test's folder. */
  function sandboxes(): number[] {
    const found = new Set<number>();
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name) || !runsHere(name)) continue;
      for (let pid = Number(name); pid > 1 && pid !== process.pid; pid = parentOf(pid)) if (nameOf(pid) === "bwrap") found.add(pid);
    }
    return [...found];
  }
  function runsHere(pid: string): boolean {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(base);
    } catch {
      return false;
    }
  }
  /** Of /proc: `pid (name) state parent …`. */
  function statOf(pid: number): { name: string; parent: number } {
    try {
      const [, name = "", parent = "0"] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      return { name, parent: Number(parent) };
    } catch {
      return { name: "", parent: 0 };
    }
  }
  const nameOf = (pid: number) => statOf(pid).name;
  const parentOf = (pid: number) => statOf(pid).parent;

  it("runs what it is given, and is named with its version", async () => {
    const two = open();
    const outcome = await fixture.run("sh", { command: "echo hello" });
    expect(receipts("route.failover")).toEqual([]);
    expect(outcome.text).toContain("exit 0: hello");
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.metadata["provider"]).toMatchObject({
      name: "bubblewrap",
      version: expect.stringMatching(/^\d/) as string,
    });
    expect(two.begun).toEqual([]);
  });

  it("that is not there when it is looked at: the other place, and the reason on the receipt", async () => {
    process.env["PATH"] = join(base, "nothing");
    const two = open();
    await fixture.tools.routing.health();
    process.env["PATH"] = path;
    expect(healthOf("bubblewrap")?.status).toBe("down");
    const outcome = await fixture.run("sh", { command: "echo hello" });
    expect(outcome.text).toContain("exit 0: hello");
    expect(two.begun).toHaveLength(1);
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.metadata["route"]).toMatchObject({
      reason: expect.stringContaining(" cannot be used") as string,
    });
  });

  it("that is ended mid-call: reported, not run again", async () => {
    const two = open();
    const running = fixture.run("sh", { command: "echo begun >> ran; sleep 60" });
    await expect.poll(() => (existsSync(fixture.path("ran")) ? sandboxes().length : 0)).toBeGreaterThan(0);
    // The outermost first: it would report the end of the one inside as the exit of the command.
    for (const pid of sandboxes().toReversed()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The first took the others along.
      }
    }
    const outcome = await running;
    expect(outcome.isError).toBe(true);
    expect(outcome.text).not.toContain("exit 0");
    expect(fixture.read("ran")).toBe("begun\n");
    expect(two.begun).toEqual([]);
    expect(fixture.ledger.get(outcome.receiptId ?? "")?.status).toBe("failure");
    expect(receipts("route.failover")).toEqual([]);
  });
});

describe("the web gate and the owner's files", () => {
  it("a site that hangs or fails says nothing of the gate", async () => {
    const web = await openWeb();
    mkdirSync(join(base, "data/config"), { recursive: true });
    writeFileSync(join(base, "data/config/network.yaml"), "version: 1\nallow: [docs.example.org]\n");
    fixture = createToolsFixture({
      base,
      catalog: [fetchUrl],
      networkEnabled: () => true,
      given: { flag: () => true, pageFetch: web.fetch, healthTimes: times },
    });
    fixture.answer("allow_once");
    web.serve("docs.example.org/hang", (_, response) => void response.destroy());
    for (let time = 0; time < 4; time += 1)
      expect((await fixture.run("fetch_url", { url: "https://docs.example.org/hang" })).isError).toBe(true);
    web.serve("docs.example.org/works", "works", "text/plain");
    expect((await fixture.run("fetch_url", { url: "https://docs.example.org/works" })).text).toContain("works");
    expect(receipts("health_degraded")).toEqual([]);
    await web.close();
  });

  it("a config/tools.yaml that cannot be read takes out what it could have turned off, and says so until it is corrected", async () => {
    mkdirSync(join(base, "data/config"), { recursive: true });
    const file = join(base, "data/config/tools.yaml");
    writeFileSync(file, "version: 1\ncapabilities:\n  shell_exec: { of: [one] }\n");
    fixture = createToolsFixture({ base, catalog: [sh, readFile], given: { shells: [plainShell("one")], healthTimes: times } });
    fixture.write("a.txt", "alpha\n");
    fixture.answer("allow_once");
    expect((await fixture.run("sh", { command: "true" })).text).toContain("config/tools.yaml ");
    expect((await fixture.run("read_file", { path: "a.txt" })).isError).toBe(false);
    expect(fixture.tools.routing.degraded()).toEqual([expect.stringContaining("config/tools.yaml ") as string]);
    writeFileSync(file, "version: 1\n");
    expect((await fixture.run("sh", { command: "true" })).isError).toBe(false);
  });
});

describe("a whole host", () => {
  let at: Window;
  beforeEach(async () => {
    mkdirSync(join(base, "proj"));
    mkdirSync(join(base, "data/config"), { recursive: true });
    // No engine of this machine, so that what is found is the same everywhere.
    writeFileSync(join(base, "data/config/sandbox.yaml"), `version: 1\nengine: "unix://${join(base, "nothing.sock")}"\n`);
    at = await openWindow({
      workspace: join(base, "proj"),
      dataDir: join(base, "data"),
      env: { PATH: process.env["PATH"] ?? "", FEATURE_SOUL: "flase" },
    });
    fixture = createToolsFixture({ base: join(base, "fixture") });
  });
  afterEach(() => at.close());

  it("reports its providers, looks at them, and reports that it has", async () => {
    const before = await at.call("tools.providers", {});
    expect(before.items.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["file-ops", "ripgrep", "git", "container", "host", "web-gate", "declared-commands"]),
    );
    let reported = 0;
    at.events.listen(({ topic }) => {
      if (topic === "providers") reported += 1;
    });
    const { ok, items } = await at.call("tools.health", {});
    expect(ok).toBe(items.every(({ health }) => health.status === "ok" || health.status === "off"));
    expect(Object.fromEntries(items.map(({ id, health }) => [id, health.status]))).toMatchObject({
      "file-ops": "ok",
      ripgrep: "ok",
      git: "ok",
      container: "down",
      host: "off",
      "web-gate": "off",
    });
    expect(reported).toBeGreaterThan(0);
    expect((await at.call("tools.providers", {})).items).toEqual(items);
  });

  it("routes without doing anything, and says what is not there", async () => {
    expect(await at.call("tools.route", { capability: "file_ops", action: "search" })).toMatchObject({
      provider: "ripgrep",
      alternatives: [],
    });
    expect((await at.call("tools.route", { capability: "shell_exec" })).alternatives).toEqual(
      expect.arrayContaining([{ provider: "host", usable: false, reason: expect.stringContaining("TOOLS_HOST_EXECUTION") as string }]),
    );
    await at.call("flags.set", { name: "TOOLS_NETWORK", enabled: true });
    expect((await at.call("tools.route", { capability: "web_ops", action: "fetch" })).provider).toBe("web-gate");
    await at.call("tools.safeMode", { enabled: true });
    expect(await at.call("tools.route", { capability: "web_ops", action: "fetch" })).toMatchObject({
      provider: null,
      reason: expect.stringContaining("Safe mode") as string,
    });
    const names = (await at.call("tools.list", {})).items.filter(({ problem }) => problem !== null).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["fetch_url", "download", "http_post"]));
  });

  it("says in its doctor's lines and its state what commands lack", async () => {
    const { items } = await at.call("tools.doctor", {});
    expect(items.find(({ id }) => id === "engine")?.status).not.toBe("ok");
    for (const { status, message } of items) {
      expect(message).not.toContain(base);
      expect(["ok", "warning", "missing"]).toContain(status);
    }
    expect(items.filter(({ id }) => id.startsWith("flag-"))).toMatchObject([
      { status: "warning", message: expect.stringContaining("FEATURE_SOUL") as string, action: "open_flags" },
    ]);
    const { place, message } = await at.call("tools.sandbox", {});
    const { degradedReasons } = await at.call("health.ready", {});
    expect(degradedReasons.includes(message)).toBe(place === null);
  });

  it("notes what the owner does with the sandbox, also when it comes to nothing", async () => {
    await at.call("tools.sandbox.restart", {}).catch(() => undefined);
    await at.call("tools.sandbox.cancelBuild", {}).catch(() => undefined);
    const { items } = await at.call("receipts.search", { limit: 100 });
    expect(items.map(({ actionName }) => actionName)).toEqual(
      expect.arrayContaining(["tools.sandbox.restart", "tools.sandbox.cancelBuild"]),
    );
  });
});
