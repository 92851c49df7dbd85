import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  createMessageConnection,
  IPCMessageReader,
  IPCMessageWriter,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver/node";
import { finished, hostEnv, mainPath, runCli, sampleWorkspace, temporaryFolder, until } from "../support/host/built-host.ts";
import { lancelot } from "../support/host/terminal.ts";
import { projectNode } from "../support/setup/project.mjs";

const handshake = (workspace: string, dataDir: string, over: Record<string, unknown> = {}) => ({
  processId: process.pid,
  rootUri: null,
  capabilities: {},
  initializationOptions: {
    protocolVersion: 1,
    ownerToken: "t".repeat(43),
    workspace,
    dataDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    ...over,
  },
});

function alive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function forkHost() {
  const child = fork(mainPath, ["--node-ipc"], { execPath: projectNode(), env: hostEnv(), stdio: ["ignore", "pipe", "pipe", "ipc"] });
  const connection = createMessageConnection(new IPCMessageReader(child), new IPCMessageWriter(child));
  connection.onRequest("lancelot/editor/unsavedText", () => ({ text: null }));
  connection.listen();
  return { child, connection };
}

it("serves an editor over IPC: handshake, calls, events, clean end", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("ipc");
  const { child, connection } = forkHost();
  const topics: string[] = [];
  connection.onNotification("lancelot/event", (event: { topic: string }) => void topics.push(event.topic));
  const answer: { lancelot: { name: string } } = await connection.sendRequest("initialize", handshake(workspace.path, data.path));
  expect(answer.lancelot).toMatchObject({ name: "lancelot", protocolVersion: 1 });
  await connection.sendNotification("initialized", {});
  expect(await connection.sendRequest("lancelot/tools.invoke", { tool: "read_file", args: { path: "README.md" } })).toMatchObject({
    output: expect.stringContaining("tide-table"),
  });
  await until("a receipt event", () => topics.includes("receipt"));
  await connection.sendRequest("shutdown");
  const exited = once(child, "exit");
  await connection.sendNotification("exit");
  expect((await exited)[0]).toBe(0);
});

it.each([
  ["another protocol version", { protocolVersion: 999 }, /different versions/],
  ["a token that is too short to be one", { ownerToken: "short" }, /different versions|refused/],
  ["a workspace that is not there", { workspace: "/no/such/folder" }, /not a folder/],
])("refuses a handshake with %s", async (_what, over, message) => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("refuse");
  const { child, connection } = forkHost();
  await expect(connection.sendRequest("initialize", handshake(workspace.path, data.path, over))).rejects.toThrow(message);
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
});

it("ends by itself when its editor is killed", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("orphan");
  const script = join(data.path, "editor.cjs");
  writeFileSync(
    script,
    `const { fork } = require("node:child_process");
     const child = fork(process.argv[2], ["--node-ipc"], { stdio: ["ignore", "ignore", "ignore", "ipc"] });
     child.once("message", () => process.send({ pid: child.pid }));
     child.send(${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { ...handshake(workspace.path, data.path), processId: null } })});
     setInterval(() => {}, 1000);`,
  );
  const editor = fork(script, [mainPath], { execPath: projectNode(), env: hostEnv(), stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [{ pid }] = (await once(editor, "message")) as [{ pid: number }];
  expect(alive(pid)).toBe(true);
  editor.kill("SIGKILL");
  await until("the host has ended", () => !alive(pid));
});

it("serves a program over stdio, without owner rights unless it holds the token", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("stdio");
  const child = spawn(projectNode(), [mainPath, "--stdio", "--workspace", workspace.path, "--data", data.path], {
    env: hostEnv(),
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = finished(child);
  const connection = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  connection.listen();
  await connection.sendRequest("initialize", { processId: null, rootUri: null, capabilities: {} });
  expect(await connection.sendRequest("lancelot/workspace.search", { query: "discountFrom" })).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ path: "src/cart.js" })]),
  });
  await expect(connection.sendRequest("lancelot/tools.invoke", { tool: "read_file", args: { path: "README.md" } })).rejects.toMatchObject({
    data: { code: "unauthorized" },
  });
  child.stdin.end();
  expect((await ended).code).toBe(0);
});

it("two hosts work on one data folder", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("two");
  const hosts = [forkHost(), forkHost()];
  await Promise.all(hosts.map(({ connection }) => connection.sendRequest("initialize", handshake(workspace.path, data.path))));
  await Promise.all(
    hosts.flatMap(({ connection }) =>
      Array.from({ length: 40 }, () =>
        connection.sendRequest("lancelot/tools.invoke", { tool: "read_file", args: { path: "src/cart.js" } }),
      ),
    ),
  );
  for (const { connection } of hosts) expect(await connection.sendRequest("lancelot/receipts.verify", {})).toMatchObject({ ok: true });
  const found: { items: unknown[] } | undefined = await hosts[0]?.connection.sendRequest("lancelot/receipts.search", { limit: 500 });
  expect(found?.items.length).toBeGreaterThanOrEqual(80);
  for (const { child } of hosts) {
    const exited = once(child, "exit");
    child.disconnect();
    await exited;
  }
});

it("lancelot call prints a result, or an error and exit 1", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("call");
  const where = ["--workspace", workspace.path, "--data", data.path];
  const info = await runCli(["call", "host.info", "{}", ...where]);
  expect(JSON.parse(info.stdout)).toMatchObject({ name: "lancelot" });
  expect(info.code).toBe(0);
  for (const [args, code] of [
    [["call", "host.info", "{oops"], "invalid_params"],
    [["call", "vault.list"], "unauthorized"],
    [["call", "skills.list"], "unavailable"],
    [["call", "no.such"], "not_found"],
  ] as const) {
    const failed = await lancelot([...args, ...where]);
    expect(failed.status, args.join(" ")).toBe(1);
    expect(JSON.parse(failed.stdout), args.join(" ")).toMatchObject({ error: { code } });
  }
  const failed = await runCli(["call", "receipts.get", '{"id":"none"}', ...where]);
  expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, { error: expect.objectContaining({ code: "not_found" }) as unknown }]);
  const owned = await lancelot(["call", "vault.list", "{}", ...where], {
    env: { LANCELOT_OWNER_TOKEN: "an-owner-token-that-is-long-enough-000" },
  });
  expect(JSON.parse(owned.stdout)).toEqual({ items: [] });
});

it("says how it is used when it is used wrongly", async () => {
  expect((await runCli([])).code).toBe(2);
  for (const args of [[], ["nonsense"], ["serve", "--port", "many"], ["chat", "x", "--yes-tier", "T9"], ["--no-such-flag"]]) {
    const failed = await lancelot(args);
    expect(failed.status, args.join(" ")).toBe(2);
    expect(failed.stdout + failed.stderr).toContain("lancelot chat");
  }
});
