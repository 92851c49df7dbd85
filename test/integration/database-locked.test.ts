import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hostEnv, sampleWorkspace, startServe, temporaryFolder, until } from "../support/host/built-host.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { projectNode, root } from "../support/setup/project.mjs";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/** Every write of a host that waits for a lock took ten seconds (ms): answers that need half of that were not behind one. */
const blockedMs = 5_000;

let workspace: ReturnType<typeof sampleWorkspace>;
let data: ReturnType<typeof temporaryFolder>;
let server: ModelServer;
let host: Awaited<ReturnType<typeof startServe>>;
let holder: ChildProcess | null = null;
let turn: (request: SeenRequest) => Turn;

beforeEach(async () => {
  turn = () => ({ text: "Done." });
  workspace = sampleWorkspace();
  data = temporaryFolder("locked");
  server = await startModelServer({ script: (request) => turn(request) });
  useModelServer(data.path, server.url("openai_compatible"));
  host = await startServe({ workspace: workspace.path, data: data.path, env: { LANCELOT_RATE_LIMIT: "100000/1" } });
});
afterEach(async () => {
  holder?.kill("SIGKILL");
  holder = null;
  await host.stop();
  await server.close();
  data[Symbol.dispose]();
  workspace[Symbol.dispose]();
});

async function rpc<T = Record<string, unknown>>(method: string, params: unknown = {}): Promise<T> {
  const response = await fetch(`${host.url}/rpc`, {
    method: "POST",
    headers: { authorization: `Bearer ${host.token}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result: T; error?: { message: string; data?: unknown } };
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}

/** Another process takes the write lock of the database. @returns its release */
async function lock(begin: string): Promise<() => Promise<void>> {
  const child = spawn(projectNode(), [join(root, "test/support/host/lock-database/main.ts"), data.path, begin], {
    env: hostEnv(),
    stdio: ["pipe", "pipe", "inherit"],
  });
  holder = child;
  await once(child.stdout, "data");
  return async () => {
    const exited = once(child, "exit");
    child.stdin.end();
    await exited;
    holder = null;
  };
}

/** The longest time (ms) that health took to answer, of so many calls. */
async function slowestHealth(calls: number): Promise<number> {
  let slowest = 0;
  for (let count = 0; count < calls; count += 1) {
    const from = performance.now();
    const response = await fetch(`${host.url}/health/live`, { headers: { connection: "close" } });
    expect(response.status).toBe(200);
    await response.text();
    slowest = Math.max(slowest, performance.now() - from);
  }
  return slowest;
}
const statusOf = async (id: string) => (await rpc<{ quest: { status: string } }>("quests.get", { id })).quest.status;

it.each(["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])(
  "health answers while another process holds %s, and the task goes on afterwards",
  async (begin) => {
    turn = ({ messages }) =>
      messages.some(({ toolCalls }) => toolCalls.length > 0)
        ? { text: "It adds up." }
        : { text: "I look.", toolCalls: [{ name: "read_file", args: { path: "src/cart.js" } }] };
    const release = await lock(begin);
    const task = rpc<{ response: string; actions: { status: string }[] }>("chat.run", { message: "What does cart.js do?" });
    expect(await slowestHealth(40)).toBeLessThan(blockedMs);
    await release();
    expect(await task).toMatchObject({ response: "It adds up.", actions: [{ status: "success" }] });
    expect((await rpc<{ ok: boolean }>("receipts.verify")).ok).toBe(true);
  },
);

it("a lock that comes in the middle of an answer delays the task, and nothing of it is lost", async () => {
  turn = ({ messages }) =>
    messages.some(({ toolCalls }) => toolCalls.length > 0)
      ? { text: "It adds up, slowly.", delayMs: 50 }
      : { text: "I look at the cart first.", delayMs: 50, toolCalls: [{ name: "read_file", args: { path: "src/cart.js" } }] };
  const task = rpc<{ response: string; quest_id: string }>("chat.run", { message: "What does cart.js do?" });
  await server.requested(1);
  const release = await lock("BEGIN EXCLUSIVE");
  expect(await slowestHealth(60)).toBeLessThan(blockedMs);
  await release();
  const { response, quest_id: id } = await task;
  expect(response).toBe("It adds up, slowly.");
  expect(await statusOf(id)).toBe("done");
});

it("a cancel is honoured while the database is locked", async () => {
  turn = () => ({ text: "I think about it.", fault: "hang_midway" });
  const { questId } = await rpc<{ questId: string }>("chat.send", { text: "Think about the cart." });
  await server.requested(1);
  const release = await lock("BEGIN EXCLUSIVE");
  const cancelled = rpc("chat.cancel", { questId });
  // The request to the model ends at once, not when the lock does.
  await server.closed(1);
  expect(await slowestHealth(10)).toBeLessThan(blockedMs);
  await release();
  await cancelled;
  expect(await statusOf(questId)).toBe("cancelled");
});

it("a lock that stays is an error that says so, and what was there is still there", async () => {
  const { quest_id: before } = await rpc<{ quest_id: string }>("chat.run", { message: "The first task." });
  const release = await lock("BEGIN EXCLUSIVE");
  await expect(rpc("chat.send", { text: "The second task." })).rejects.toThrow("SQLITE_BUSY");
  expect(await slowestHealth(5)).toBeLessThan(blockedMs);
  await release();
  expect(await statusOf(before)).toBe("done");
  expect((await rpc<{ items: unknown[] }>("quests.list", { limit: 10 })).items).toHaveLength(1);
  await rpc("chat.run", { message: "The third task." });
  await until("the receipts verify", async () => (await rpc<{ ok: boolean }>("receipts.verify")).ok);
  expect(readFileSync(join(data.path, "config/models.yaml"), "utf8")).toContain("test-model");
});
