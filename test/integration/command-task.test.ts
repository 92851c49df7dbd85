// @module-tag serial
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Emit, HostEvent } from "../../agent-server/contract/events.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { startEngine, type TestEngine, toolsImage } from "../support/engine/engine.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { mended, mendingScript, mendingTask, testCommand } from "../support/tasks/mend-and-test.ts";
import { edits, useModelServer } from "../support/tasks/two-file-change.ts";
import { until } from "../support/host/built-host.ts";
import { skippedWithout } from "../support/setup/machine.mjs";

const call = { owner: true, signal: new AbortController().signal };
const root = fileURLToPath(new URL("../..", import.meta.url));
const without = skippedWithout("engine");
const withoutSandbox = skippedWithout("sandbox");
let engine: TestEngine | null = null;
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
const hosts: Host[] = [];
const events: HostEvent[] = [];

beforeAll(async () => {
  if (without === null) engine = await startEngine({ images: [toolsImage] });
});
afterAll(async () => engine?.stop());

beforeEach(async () => {
  events.length = 0;
  folders = makeFolders();
  cpSync(join(root, "media/sample"), folders.workspace, { recursive: true });
  // Commands run as the owner of the workspace, who is not root.
  chmodSync(folders.workspace, 0o777);
  mkdirSync(join(folders.dataDir, "config"), { recursive: true });
  writeFileSync(join(folders.dataDir, "config/sandbox.yaml"), `image: ${toolsImage}\n`);
  server = await startModelServer({ script: mendingScript() });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  await server.close();
  folders.remove();
});

async function open(env: NodeJS.ProcessEnv) {
  let seq = 0;
  const emit: Emit = (topic, payload) => {
    seq += 1;
    events.push({ seq, topic, payload } as HostEvent);
  };
  const host = await createHost({
    paths: productPaths(),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env,
    emit,
    lastEventSeq: () => seq,
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  return {
    handlers,
    start: async () => (await handlers["chat.send"]({ text: mendingTask }, call)).questId,
    quest: async (id: string) => (await handlers["quests.get"]({ id }, call)).quest,
    cards: async (id: string) =>
      (await handlers["quests.get"]({ id }, call)).messages
        .flatMap(({ parts }) => parts)
        .filter((part): part is ToolPart => part.type === "tool"),
    said: async (id: string) =>
      (await handlers["quests.get"]({ id }, call)).messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      ),
  };
}

/** Every file of the workspace with its bytes and mode. */
function tree(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folders.workspace, { recursive: true, encoding: "utf8" })
      .filter((path) => statSync(join(folders.workspace, path)).isFile())
      .toSorted()
      .map((path) => {
        const at = join(folders.workspace, path);
        return [path, `${statSync(at).mode.toString(8)} ${readFileSync(at, "base64")}`];
      }),
  );
}

/**
 * In a view, the second run sees the proposed edit, and the review comes after it. Where commands work in the workspace, the second run
 * waits for the review.
 */
async function mendsAndTests(
  env: NodeJS.ProcessEnv,
  place: "container" | "os_sandbox",
  containment: "transactional" | "watched",
): Promise<void> {
  const before = tree();
  const inView = containment === "transactional";
  const { handlers, start, quest, cards, said } = await open(env);
  const id = await start();
  await until("the task waits for the review", async () => {
    const { status, waitingFor } = await quest(id);
    if (status === "done" || status === "failed") throw new Error(`The task is ${status}: ${JSON.stringify(await cards(id))}`);
    return waitingFor?.kind === "review";
  });
  const waiting = await cards(id);
  expect(waiting.map(({ tool, status }) => [tool, status])).toEqual([
    ["run_command", "failure"],
    ["edit_file", "success"],
    ["run_command", inView ? "success" : "waiting"],
  ]);
  expect(waiting[0]?.command).toMatchObject({
    text: testCommand,
    cwd: ".",
    place,
    containment,
    network: false,
    exitCode: 1,
    ended: "exit",
  });
  expect(waiting[0]?.output).toMatch(/^Exit code 1, after [\d.]+ s in the (container|OS sandbox)\.\n/);
  expect(waiting[0]?.live?.text).toContain("duration");
  const streamed = events.filter((event) => event.topic === "toolOutput" && event.payload.questId === id);
  expect(streamed.length).toBeGreaterThan(0);
  expect(tree()).toEqual(before);

  const { items } = await handlers["changes.list"]({ questId: id, open: true, limit: 10 }, call);
  expect(items.map(({ evidence }) => evidence?.map(({ command, passed }) => [command, passed]))).toEqual([
    inView ? [[testCommand, true]] : undefined,
  ]);
  for (const change of items) await handlers["changes.decide"]({ id: change.id, decision: "accept" }, call);
  await until("the task is done", async () => (await quest(id)).status === "done");
  const done = await cards(id);
  expect(done.at(-1)?.command).toMatchObject({ place, exitCode: 0, ended: "exit" });
  expect((await said(id)).at(-1)).toMatch(new RegExp(`^${mended.after} Exit code 0`));
  expect(readFileSync(join(folders.workspace, "src/duration.js"), "utf8")).toContain(edits[1].new_text);

  for (const { receiptId } of done) {
    const receipt = await handlers["receipts.get"]({ id: receiptId ?? "" }, call);
    if (receipt.actionName !== "run_command") continue;
    expect(receipt.riskTier).toBe("T2");
    expect(receipt.outputs).toMatchObject({ workspace: expect.any(String) as string, network: "off" });
    expect(receipt.outputs).toMatchObject({ place, containment, ended: "exit", ...(inView ? { proposedTotal: 0 } : { changedTotal: 0 }) });
  }
  expect(await handlers["receipts.verify"]({}, call)).toMatchObject({ ok: true });
  await handlers["checkpoints.restore"]({ questId: id }, call);
  expect(tree()).toEqual(before);
}

describe("a task that runs failing tests, fixes the cause, and runs them again", () => {
  it.skipIf(without !== null)(`in a container${without === null ? "" : ` (${without})`}`, async () => {
    await mendsAndTests({ DOCKER_HOST: `unix://${engine?.socket ?? ""}`, PATH: process.env["PATH"] }, "container", "transactional");
  });

  it.skipIf(withoutSandbox !== null)("in the sandbox of the operating system, where there is no engine", async () => {
    await mendsAndTests({ DOCKER_HOST: "unix:///nonexistent/docker.sock", PATH: process.env["PATH"] }, "os_sandbox", "transactional");
  });

  it("says what to install where there is neither, and changes nothing", async () => {
    const before = tree();
    const { handlers, start, quest, cards, said } = await open({ DOCKER_HOST: "unix:///nonexistent/docker.sock", PATH: "/nonexistent" });
    const id = await start();
    await until("the task is done", async () => (await quest(id)).status === "done");
    const [card] = await cards(id);
    expect(card).toMatchObject({ tool: "run_command", status: "failure" });
    expect(card?.output).toMatch(/bubblewrap/);
    expect(card?.output).toMatch(/Install/);
    expect((await said(id)).at(-1)).toMatch(new RegExp(`^${mended.stuck}`));
    expect(tree()).toEqual(before);
    const state = await handlers["tools.sandbox"]({}, call);
    expect(state.place).toBeNull();
    expect((await handlers["health.ready"]({}, call)).degradedReasons.join(" ")).toMatch(/bubblewrap/);
    expect((await handlers["tools.route"]({ capability: "shell_exec" }, call)).provider).toBeNull();
  });
});
