// @module-tag serial
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hostAllocator, hostFlags } from "../../extension/host/host-flags.ts";
import { cliPath, hostEnv, sampleWorkspace, temporaryFolder, until } from "../support/host/built-host.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { projectNode, root } from "../support/setup/project.mjs";
import { runs } from "../support/soak.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/** Tasks before memory is compared (code is compiled and caches fill), and in all. `npm run soak` runs a thousand. */
const warm = runs(40, 200);
const total = runs(120, 1_000);
/** How much heap, buffers and resident memory may each grow (bytes) over the tasks after the first ones. */
const allowed = 20_000_000;

let workspace: ReturnType<typeof sampleWorkspace>;
let data: ReturnType<typeof temporaryFolder>;
let server: ModelServer;
let child: ChildProcess;
let address: { url: string; token: string };
let samples = "";

beforeEach(async () => {
  workspace = sampleWorkspace();
  data = temporaryFolder("growth");
  samples = join(data.path, "heap-samples");
  writeFileSync(samples, "");
  server = await startModelServer({
    script: ({ messages }) =>
      messages.some(({ toolCalls }) => toolCalls.length > 0)
        ? { text: "Done." }
        : { text: "I look.", toolCalls: [{ name: "read_file", args: { path: "src/duration.js" } }] },
  });
  useModelServer(data.path, server.url("openai_compatible"));
  const sampler = join(root, "test/support/host/heap-sampler.mjs");
  const args = ["--expose-gc", ...hostFlags, "--import", sampler, cliPath, "serve", "--port", "0"];
  child = spawn(projectNode(), [...args, "--workspace", workspace.path, "--data", data.path], {
    env: hostEnv({ LANCELOT_HEAP_SAMPLES: samples, LANCELOT_RATE_LIMIT: "100000/1", ...hostAllocator }),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
  address = JSON.parse(line.toString("utf8")) as typeof address;
});
afterEach(async () => {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
  await server.close();
  data[Symbol.dispose]();
  workspace[Symbol.dispose]();
});

/** The memory of the host in bytes after a collection, which only this test process can force. */
async function memory(): Promise<{ rss: number; heapUsed: number; external: number }> {
  const lines = (): string[] => readFileSync(samples, "utf8").split("\n").filter(Boolean);
  const before = lines().length;
  child.kill("SIGUSR2");
  await until("the host measures its memory", () => lines().length > before);
  return JSON.parse(lines().at(-1) ?? "") as { rss: number; heapUsed: number; external: number };
}

async function runTask(number: number): Promise<void> {
  const response = await fetch(`${address.url}/rpc`, {
    method: "POST",
    headers: { authorization: `Bearer ${address.token}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: number,
      method: "chat.run",
      params: { message: `Task ${number}: what does duration.js do?` },
    }),
  });
  const { result } = (await response.json()) as { result?: { response: string; actions: { status: string }[] } };
  expect(result).toMatchObject({ response: "Done.", actions: [{ status: "success" }] });
}

it(`memory stays flat over ${total} tasks of one host`, async () => {
  for (let number = 1; number <= warm; number += 1) await runTask(number);
  const before = await memory();
  for (let number = warm + 1; number <= total; number += 1) await runTask(number);
  const after = await memory();
  process.stderr.write(
    `After ${warm} and ${total} tasks: heap ${mb(before.heapUsed)} and ${mb(after.heapUsed)} MB, resident ${mb(before.rss)} and ${mb(after.rss)} MB.\n`,
  );
  expect(after.heapUsed - before.heapUsed).toBeLessThan(allowed);
  expect(after.external - before.external).toBeLessThan(allowed);
  expect(after.rss - before.rss).toBeLessThan(allowed);
});

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
