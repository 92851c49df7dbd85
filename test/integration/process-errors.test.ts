import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  cliPath,
  finished,
  hostEnv,
  mainPath,
  runCli,
  sampleWorkspace,
  startServe,
  temporaryFolder,
  until,
} from "../support/host/built-host.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { projectNode } from "../support/setup/project.mjs";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/** The environment of a host that fails on a signal, as a fault in the code of the host would. */
function faulty(folder: string, how: "throw" | "reject"): Record<string, string> {
  const file = join(folder, "fault.mjs");
  const work =
    how === "throw" ? `setImmediate(() => { throw new Error("fault of this test"); })` : `Promise.reject(new Error("fault of this test"))`;
  writeFileSync(file, `process.on("SIGUSR2", () => { ${work}; });\n`);
  return { NODE_OPTIONS: `--import=${file}` };
}

async function ledgerOf(data: string): Promise<{ ok: boolean; open: number }> {
  const verified = JSON.parse((await runCli(["receipts", "verify", "--json", "--data", data])).stdout) as { ok: boolean };
  const found = JSON.parse((await runCli(["call", "receipts.search", '{"limit":500}', "--data", data])).stdout) as {
    items: { status: string }[];
  };
  return { ok: verified.ok, open: found.items.filter(({ status }) => status === "pending").length };
}

describe("a fault that nothing caught", () => {
  it("ends serve with 1, with the fault in its log and the ledger whole", async () => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("fault");
    const server = await startServe({ workspace: workspace.path, data: data.path, env: faulty(data.path, "throw") });
    let log = "";
    server.child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
    const ended = new Promise((resolve) => server.child.once("close", resolve));
    server.child.kill("SIGUSR2");
    expect(await ended).toBe(1);
    expect(log).toContain("fault of this test");
    expect(await ledgerOf(data.path)).toEqual({ ok: true, open: 0 });
  });

  it("leaves serve running when it was a promise", async () => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("fault");
    const server = await startServe({ workspace: workspace.path, data: data.path, env: faulty(data.path, "reject") });
    let log = "";
    server.child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
    server.child.kill("SIGUSR2");
    await until("the fault is logged", () => log.includes("fault of this test"));
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
    await server.stop();
  });

  it("ends chat with 1, and closes the receipts of its task", async () => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("fault");
    const model = await startModelServer({ script: () => ({ text: "never", fault: "hang" }) });
    useModelServer(data.path, model.url("openai_compatible"));
    const child = spawn(projectNode(), [cliPath, "chat", "hello", "--workspace", workspace.path, "--data", data.path], {
      env: hostEnv(faulty(data.path, "throw")),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const result = finished(child);
    await until("the model is asked", () => model.requests.length > 0);
    child.kill("SIGUSR2");
    const { code, stderr } = await result;
    expect(code).toBe(1);
    expect(stderr).toContain("fault of this test");
    await model.close();
    expect(await ledgerOf(data.path)).toEqual({ ok: true, open: 0 });
  });

  it("ends a host on stdio with 1", async () => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("fault");
    const child = spawn(projectNode(), [mainPath, "--stdio", "--workspace", workspace.path, "--data", data.path], {
      env: hostEnv(faulty(data.path, "throw")),
      stdio: ["pipe", "pipe", "pipe"],
    });
    const result = finished(child);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { processId: null, rootUri: null, capabilities: {} },
    });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGUSR2");
    const { code, stderr } = await result;
    expect(code).toBe(1);
    expect(stderr).toContain("fault of this test");
    expect(await ledgerOf(data.path)).toEqual({ ok: true, open: 0 });
  });
});
