// @module-tag local-model
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Local } from "../../agent-server/models/local/types.ts";
import type { ModelEvent } from "../../agent-server/models/models.ts";
import { soak } from "../support/soak.ts";
import { localDataDir, openLocal, prepareLocalModel } from "../support/models/local-models.ts";
import { type FileServer, startFileServer } from "../support/models/file-server.ts";
import { makeDataDir } from "../support/models/own-catalog.ts";

const missing = await prepareLocalModel();
type Finished = Extract<ModelEvent, { type: "done" }>;
const linux = process.platform === "linux";

let dataDir: string;
let local: Local;
const opened: Local[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "local-faults-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  rmSync(dataDir, { recursive: true, force: true });
});

function open(over: Parameters<typeof openLocal>[0] = {}): Local {
  local = openLocal({ dataDir, env: { PATH: process.env["PATH"] }, retryMs: 1, ...over });
  opened.push(local);
  return local;
}

async function ask(sentence: string, over: { maxTokens?: number; onText?: () => void; signal?: AbortSignal } = {}): Promise<Finished> {
  const request = { system: "", messages: [{ role: "user" as const, content: [{ type: "text" as const, text: sentence }] }], tools: [] };
  const call = { model: "", maxTokens: over.maxTokens ?? 20, temperature: 1, thinking: undefined };
  for await (const event of local.provider.stream(request, call, over.signal ?? new AbortController().signal)) {
    if (event.type === "text") over.onText?.();
    if (event.type === "done") return event;
  }
  throw new Error("the stream ended without an answer");
}

/**
 * Does something at the first text of an answer, and returns how that answer failed. The model is random and may have ended by then, so it
 * is asked again until it was interrupted.
 */
async function interrupted(act: () => void, alsoAsk: () => void = () => undefined): Promise<unknown> {
  for (;;) {
    let first = true;
    const running = ask("Go on.", { maxTokens: 1_500, onText: () => first && ((first = false), act()) });
    alsoAsk();
    try {
      await running;
    } catch (error) {
      return error;
    }
  }
}

/** The process has been started; it holds no model yet. */
async function started(): Promise<number> {
  for (;;) {
    const pid = local.pid();
    if (pid !== undefined) return pid;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function answers(): Promise<void> {
  expect((await ask("Go on.")).usage.outputTokens).toBeGreaterThan(0);
  expect(local.degraded()).toBeNull();
}

/** Health says what happened and what to do. */
function isDegraded(what: RegExp, next: RegExp): void {
  const { problem, nextStep } = local.state();
  expect(problem).toMatch(what);
  expect(nextStep).toMatch(next);
  expect(local.degraded()).toContain(`${problem} ${nextStep}`);
}

describe.skipIf(missing !== null)("the process of the model", () => {
  const killed = { code: "unavailable", message: expect.stringContaining("SIGKILL"), data: expect.objectContaining({ retryable: true }) };
  const kill = () => process.kill(local.pid() ?? 0, "SIGKILL");

  it("is killed while nobody asks: health says so, and the next request starts it again", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    await answers();
    kill();
    await vi.waitFor(() => expect(local.state().status).toBe("ready"));
    isDegraded(/SIGKILL/, /next request/);
    await answers();
  });

  it("is killed while it loads", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    const failed = expect(ask("Go on.")).rejects.toMatchObject(killed);
    await started();
    kill();
    await failed;
    isDegraded(/SIGKILL/, /next request/);
    await answers();
  });

  it.runIf(linux)("is killed while it reads a long prompt", async () => {
    open({ dataDir: localDataDir });
    await local.load(new AbortController().signal);
    const pid = local.pid() ?? 0;
    const cpu = () => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[13]);
    const before = cpu();
    let sentence = 0;
    const running = ask("A sentence of a long report. ".repeat(150), { onText: () => sentence++ });
    const failed = expect(running).rejects.toMatchObject(killed);
    await vi.waitFor(() => expect(cpu()).toBeGreaterThan(before + 30), { interval: 5 });
    process.kill(pid, "SIGKILL");
    await failed;
    expect(sentence).toBe(0);
    isDegraded(/SIGKILL/, /next request/);
  });

  it("is killed while it writes and others wait: only the one that ran fails", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    let waiting: Promise<Finished>[] = [];
    const error = await interrupted(kill, () => {
      waiting = ["Two.", "Three.", "Four."].map((sentence) => ask(sentence));
      void Promise.allSettled(waiting);
    });
    expect(error).toMatchObject(killed);
    for (const done of await Promise.all(waiting)) expect(done.usage.outputTokens).toBeGreaterThan(0);
    expect(local.degraded()).toBeNull();
  });

  it.each(["at rest", "at work"])("hangs %s: it is ended, and the next request works", async (when) => {
    makeDataDir(dataDir, { here: true });
    const watch = { everyMs: 1_000, misses: 60 };
    open({ process: { watch } });
    await answers();
    Object.assign(watch, { everyMs: 50, misses: 6 });
    const stop = () => process.kill(local.pid() ?? 0, "SIGSTOP");
    if (when === "at rest") stop();
    expect(await interrupted(stop)).toMatchObject({ code: "unavailable", data: { retryable: true, reason: "hung" } });
    Object.assign(watch, { everyMs: 1_000, misses: 60 });
    isDegraded(/./, /next request/);
    await answers();
  });

  it("is not ended while it only computes for long", async () => {
    const watch = { everyMs: 1_000, misses: 60 };
    open({ dataDir: localDataDir, process: { watch } });
    await local.load(new AbortController().signal);
    // Far less than the prompt takes.
    Object.assign(watch, { everyMs: 20, misses: 50 });
    expect((await ask("A sentence of a report. ".repeat(40), { maxTokens: 2 })).usage.outputTokens).toBeGreaterThan(0);
  });

  it.runIf(linux).each([
    ["the process itself", 50],
    ["the model", 1_000],
  ])("gets no memory for %s: it says so, and works when there is some", async (_what, megabytes) => {
    const watch = { everyMs: 250, misses: 12 };
    open({ dataDir: localDataDir, process: { watch } });
    const failed = expect(ask("Hello.")).rejects.toMatchObject({ code: "unavailable", data: { next: expect.any(String) } });
    execFileSync("/usr/bin/prlimit", ["--pid", String(await started()), `--as=${megabytes * 1_000_000}`]);
    await failed;
    // Where it was when its memory was taken decides whether it dies, hangs until it is ended, or says that it cannot load.
    isDegraded(/ended unexpectedly|stopped responding|could not be loaded/, /smaller model|Download it again|next request/);
    Object.assign(watch, { everyMs: 1_000, misses: 60 });
    // What was held back is tried again at once when the owner says so.
    await local.load(new AbortController().signal);
    await expect(ask("Say yes.", { maxTokens: 2 })).resolves.toBeDefined();
  });

  it("dies at every start: after some tries it is left alone for a while, and says so at once", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    for (let tries = 0; tries < 3; tries++) {
      const failed = expect(ask("Go on.")).rejects.toMatchObject(killed);
      await started();
      kill();
      await failed;
    }
    expect(local.state().status).toBe("failed");
    await expect(ask("Go on.")).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("SIGKILL") });
    expect(local.pid()).toBeUndefined();
    expect((await local.load(new AbortController().signal)).status).toBe("loaded");
    await answers();
  });

  it.each(soak ? ["words", "shape", "unknown", "bytes", "endless"] : ["bytes", "endless"])(
    "sends garbage (%s): the host lives and ends it",
    async (garbage) => {
      makeDataDir(dataDir, { here: true });
      const entry = fileURLToPath(new URL("../support/models/garbage-process.ts", import.meta.url));
      open({ process: { entry } });
      await expect(ask(garbage)).rejects.toMatchObject({
        code: "unavailable",
        data: { retryable: true, reason: "invalid_output" },
      });
      expect(local.pid()).toBeUndefined();
      isDegraded(/./, /next request/);
    },
  );

  it("takes so many requests and no more; a waiting one can be canceled", async () => {
    makeDataDir(dataDir, { here: true });
    open({ process: { maxQueued: 2 } });
    await answers();
    // It holds still, so that the others wait.
    const pid = local.pid() ?? 0;
    process.kill(pid, "SIGSTOP");
    const running = ask("One.").then(() => order.push("one"));
    const withoutRemoved = new AbortController();
    const order: string[] = [];
    const second = ask("Two.", { signal: withoutRemoved.signal });
    const third = ask("Three.").then(() => order.push("three"));
    await vi.waitFor(() => expect(local.state().loaded?.queued).toBe(2));
    await expect(ask("Four.")).rejects.toMatchObject({ code: "rate_limited" });
    const cancelled = expect(second).rejects.toMatchObject({ code: "cancelled" });
    withoutRemoved.abort();
    await cancelled;
    const fifth = ask("Five.").then(() => order.push("five"));
    process.kill(pid, "SIGCONT");
    await Promise.all([running, third, fifth]);
    expect(order).toEqual(["one", "three", "five"]);
  });

  it("is unloaded by the owner in the middle of an answer, and loaded again by the next request", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    const error = await interrupted(() => void local.unload());
    expect(error).toMatchObject({ code: "unavailable", data: { reason: "unloaded" } });
    expect(local.state()).toMatchObject({ status: "ready", problem: null });
    const { loaded } = await local.load(new AbortController().signal);
    expect(loaded).toMatchObject({ contextSize: 2_048, gpuLayers: 0, queued: 0, tokensPerSecond: null });
    expect(loaded?.memoryBytes).toBeGreaterThan(20_000_000);
    await answers();
    expect(local.state().loaded?.tokensPerSecond).toBeGreaterThan(0);
  });

  it("is reloaded with what the owner writes", async () => {
    makeDataDir(dataDir, { here: true });
    open();
    await answers();
    const before = local.pid();
    writeFileSync(join(dataDir, "config/models.yaml"), "local: { context: 600, threads: 1 }\n");
    await answers();
    expect(local.pid()).not.toBe(before);
    expect(local.state().loaded).toMatchObject({ contextSize: expect.any(Number), threads: 1 });
    expect(local.state().loaded?.contextSize).toBeLessThan(1_024);
  });
});

describe.skipIf(missing !== null)("the file of the model", () => {
  let server: FileServer;
  beforeEach(async () => {
    server = await startFileServer();
  });
  afterEach(() => server.close());

  /** The model of a catalog, loaded, with a server to fetch it from again. */
  async function loaded(): Promise<{ model: string; bytes: Buffer }> {
    const made = makeDataDir(dataDir, { here: true, url: `${server.url}/tiny.gguf` });
    server.files.set("/tiny.gguf", made.bytes);
    open({ fetch: undefined as never });
    await answers();
    return made;
  }

  it.each<[string, (model: string, bytes: Buffer) => void]>([
    ["cut short", (model, bytes) => truncateSync(model, bytes.length / 2)],
    [
      "replaced",
      (model, bytes) => {
        writeFileSync(`${model}.other`, flipped(bytes));
        renameSync(`${model}.other`, model);
      },
    ],
  ])("is %s while it is loaded: the next request says so, and downloading it again repairs it", async (_how, damage) => {
    const { model, bytes } = await loaded();
    damage(model, bytes);
    await expect(ask("Go on.")).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("is damaged") });
    expect(local.pid()).toBeUndefined();
    isDegraded(/tiny\.gguf is damaged/, /Download it again/);
    expect((await local.download()).status).toBe("ready");
    await answers();
    expect(readFileSync(model).equals(bytes)).toBe(true);
  });

  it("is cut short in the middle of an answer", async () => {
    const { model } = await loaded();
    let first = true;
    const running = ask("Go on.", { maxTokens: 1_500, onText: () => first && (truncateSync(model, 1_000), (first = false)) });
    await running.catch((error: unknown) => expect(error).toMatchObject({ code: "unavailable" }));
    await expect(ask("Go on.")).rejects.toMatchObject({ message: expect.stringContaining("is damaged") });
  });

  it("is deleted while it is loaded", async () => {
    const { model } = await loaded();
    rmSync(model);
    await expect(ask("Go on.")).rejects.toMatchObject({ data: { action: "download_model" } });
    expect(local.pid()).toBeUndefined();
    expect(local.state().status).toBe("absent");
    expect((await local.download()).status).toBe("ready");
  });

  it("was changed while nothing ran, and is looked at once", async () => {
    const { model, bytes } = makeDataDir(dataDir, { here: true });
    writeFileSync(model, flipped(bytes));
    open();
    await expect(ask("Go on.")).rejects.toMatchObject({ message: expect.stringContaining("is damaged") });
    await local.close();
    // What was found is kept over restarts.
    open();
    isDegraded(/is damaged/, /Download it again/);
    writeFileSync(model, bytes);
    await answers();
  });

  it("goes with what was fetched of it when the owner deletes it; a file of the owner's stays", async () => {
    const { model } = await loaded();
    writeFileSync(`${model}.part`, "half");
    expect(await local.remove()).toMatchObject({ status: "absent", paused: false, file: null });
    expect([existsSync(model), existsSync(`${model}.part`), local.pid()]).toEqual([false, false, undefined]);
    const own = join(dataDir, "mine.gguf");
    makeOwn(own);
    writeFileSync(join(dataDir, "config/models.yaml"), "local: { model: mine.gguf }\n");
    await answers();
    await local.remove();
    expect(existsSync(own)).toBe(true);
    await answers();
  });
});

describe.skipIf(missing !== null)("the runtime", () => {
  const name = "node-llama-cpp-3.21.1";
  it("is broken: it says so, and downloading it again repairs it", async () => {
    makeDataDir(dataDir, { here: true, runtime: false });
    const runtime = join(dataDir, "runtime", name);
    cpSync(join(localDataDir, "runtime", name), runtime, { recursive: true });
    const broken = join(runtime, readdirSync(runtime, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(".node")) ?? "");
    truncateSync(broken, 10_000);
    open();
    await expect(ask("Go on.")).rejects.toMatchObject({ code: "unavailable" });
    isDegraded(/runtime of the local model is damaged|could not be loaded|ended unexpectedly/, /Download it again|next request/);
    await local.download();
    await answers();
    // Now that its files are listed, one that is gone is found before it is loaded.
    await local.unload();
    truncateSync(broken, 10);
    await expect(ask("Go on.")).rejects.toMatchObject({
      message: expect.stringContaining("runtime of the local model is damaged. Download it again"),
    });
    isDegraded(/runtime of the local model is damaged/, /Download it again/);
  });
});

function flipped(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes);
  const at = other.length - 5_000;
  other[at] = (other[at] ?? 0) ^ 1;
  return other;
}

function makeOwn(path: string): void {
  cpSync(join(localDataDir, "tiny-random.gguf"), path);
}
