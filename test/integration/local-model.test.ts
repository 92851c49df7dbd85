// @module-tag local-model
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { itInSoak, runs } from "../support/soak.ts";
import * as z from "zod";
import type { LocalModel } from "../../agent-server/contract/models.ts";
import { replyGrammar } from "../../agent-server/models/local/grammar.ts";
import type { Local } from "../../agent-server/models/local/types.ts";
import type { Done } from "../../agent-server/models/local/model-protocol.ts";
import { createModelProcess } from "../../agent-server/models/local/model-process.ts";
import type { ModelEvent, ModelMessage, ToolSchema } from "../../agent-server/models/models.ts";
import { localDataDir, openLocal, prepareLocalModel, tinyModel } from "../support/models/local-models.ts";

const missing = await prepareLocalModel();

const call = { model: "", maxTokens: 100, temperature: undefined, thinking: undefined };
const system = "You are Lancelot, a coding assistant. Answer briefly and only from what you see.";
const text = { type: "string" };
const tools: ToolSchema[] = [
  {
    name: "read_file",
    description: "Reads a text file.",
    parameters: { type: "object", properties: { path: text, limit: { type: "integer" } }, required: ["path"] },
  },
  { name: "list_files", description: "Lists files.", parameters: { type: "object", properties: { path: text } } },
  {
    name: "edit_file",
    description: "Replaces text.",
    parameters: {
      type: "object",
      properties: { path: text, old_text: text, new_text: text, all: { type: "boolean" } },
      required: ["path", "old_text", "new_text"],
    },
  },
];
const user = (expectedText: string): ModelMessage => ({ role: "user", content: [{ type: "text", text: expectedText }] });
type Finished = Extract<ModelEvent, { type: "done" }>;

async function ask(
  local: Local,
  messages: ModelMessage[],
  over: { tools?: ToolSchema[]; maxTokens?: number; signal?: AbortSignal; onText?: () => void } = {},
): Promise<Finished> {
  const request = { system, messages, tools: over.tools ?? [] };
  const signal = over.signal ?? new AbortController().signal;
  for await (const event of local.provider.stream(request, { ...call, maxTokens: over.maxTokens ?? call.maxTokens }, signal)) {
    if (event.type === "text") over.onText?.();
    if (event.type === "done") return event;
  }
  throw new Error("the stream ended without an answer");
}
const textOf = (done: Finished) => done.content.map((part) => (part.type === "text" ? part.text : "")).join("");

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A killed process that nobody has waited for yet does nothing any more.
    return process.platform !== "linux" || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe.skipIf(missing !== null)("TinyLlama", () => {
  const states: LocalModel["status"][] = [];
  const local = openLocal({
    env: { ...process.env, LANCELOT_LOCAL_MODEL: "", ANTHROPIC_API_KEY: "not-for-the-model" },
    onState: ({ status }) => status !== states.at(-1) && states.push(status),
  });
  afterAll(() => local.close());

  it("is here, and says what it is", async () => {
    expect(local.state()).toMatchObject({
      status: "ready",
      source: "npm",
      name: "TinyLlama 1.1B Chat",
      license: "Apache-2.0",
      problem: null,
    });
    expect(await local.model()).toEqual({ name: "TinyLlama 1.1B Chat", contextWindow: 2_048, small: true });
    expect(local.pid()).toBeUndefined();
  });

  it("answers a question about a file it is shown", async () => {
    const done = await ask(
      local,
      [user("File README.md:\n# Price book\nA small library that adds up prices and takes discounts off.\n\nWhat is this library for?")],
      { tools },
    );
    expect(textOf(done)).toMatch(/price|discount/i);
    expect(done.stop).toBe("end");
    expect(done.usage.outputTokens).toBeGreaterThan(5);
    expect(states).toEqual(["loading", "loaded"]);
  });

  itInSoak("asks to read a file it is not shown, and answers from what it got, with what it knows already in memory", async () => {
    const question = user("What is in the file src/price.ts?");
    const asked = await ask(local, [question], { tools });
    expect(asked.stop).toBe("tool_calls");
    expect(asked.content).toEqual([{ type: "tool_call", id: expect.any(String), name: "read_file", args: { path: "src/price.ts" } }]);
    const results = [{ callId: "1", name: "read_file", text: "export const vat = 0.19;", isError: false }];
    const done = await ask(local, [question, { role: "assistant", content: asked.content }, { role: "tool", results }], { tools });
    expect(done.usage.cachedInputTokens).toBeGreaterThan(100);
    expect(textOf(done).length).toBeGreaterThan(0);
  });

  it("stops at once while it writes", async () => {
    const stop = new AbortController();
    let texts = 0;
    const running = ask(local, [user("Write a long story about a knight.")], {
      signal: stop.signal,
      onText: () => {
        texts += 1;
        stop.abort();
      },
    });
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    // A text that was on its way when the user stopped may still arrive; a story has hundreds.
    expect(texts).toBeLessThan(5);
  });

  it("stops soon while it reads a long prompt, and the next request does not wait for the rest of it", async () => {
    const stop = new AbortController();
    const running = ask(local, [user("A sentence of a long report. ".repeat(150))], { signal: stop.signal });
    const next = ask(local, [user("Say yes.")], { maxTokens: 2 });
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect((await next).usage.outputTokens).toBeGreaterThan(0);
  });

  itInSoak("answers two requests one after the other", async () => {
    const order: string[] = [];
    const one = ask(local, [user("Say one.")], { maxTokens: 8, onText: () => order.push("one") });
    const two = ask(local, [user("Say two.")], { maxTokens: 8, onText: () => order.push("two") });
    await Promise.all([one, two]);
    expect(order).toEqual([...order].sort());
    expect(new Set(order).size).toBe(2);
  });

  it("gives only what the library needs to its process", () => {
    const pid = local.pid();
    expect(pid).toBeDefined();
    if (process.platform !== "linux") return;
    const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
    expect(environ).toContain("PATH=");
    expect(environ).not.toContain("ANTHROPIC_API_KEY");
  });

  it("survives a crash of the model's process: the request fails with a message, the next one works", async () => {
    const running = ask(local, [user("Write a long story about a knight.")], { onText: () => process.kill(local.pid() ?? 0, "SIGKILL") });
    await expect(running).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("SIGKILL"),
      data: { retryable: true },
    });
    expect(local.state().status).toBe("ready");
    expect((await ask(local, [user("Say yes.")], { maxTokens: 2 })).usage.outputTokens).toBeGreaterThan(0);
  });

  it("says with figures when the owner's words are more than it can take", async () => {
    const running = ask(local, [user("word ".repeat(3_000))]);
    await expect(running).rejects.toMatchObject({ code: "too_large", message: expect.stringMatching(/needs \d{4} tokens/) });
  });

  itInSoak("shortens old tool outputs to what it can take, and says so in the answer", async () => {
    const long = [{ callId: "1", name: "read_file", text: "const price = 1;\n".repeat(400), isError: false }];
    const messages: ModelMessage[] = [
      user("What is in a.ts?"),
      { role: "assistant", content: [{ type: "tool_call", id: "1", name: "read_file", args: { path: "a.ts" } }] },
      { role: "tool", results: long },
      { role: "assistant", content: [{ type: "text", text: "Prices." }] },
      user("Say yes."),
    ];
    const done = await ask(local, messages, { maxTokens: 20 });
    expect(textOf(done)).toContain("[Note: 1 tool output was shortened, to fit what this local model can take at once.]");
  });
});

describe.skipIf(missing !== null)("any model", () => {
  const opened: Local[] = [];
  const folders: string[] = [];
  const openTiny = (over: Parameters<typeof openLocal>[0] = {}) => {
    const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: tinyModel() }, ...over });
    opened.push(local);
    return local;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((local) => local.close()));
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  it("is taken from the owner's file, with the context it has", async () => {
    const local = openTiny();
    expect(local.state()).toMatchObject({ status: "ready", source: "owner", file: "tiny-random.gguf" });
    expect(await local.model()).toEqual({ name: "tiny-random", contextWindow: 2_048, small: true });
    const small = openTiny({ env: { ...process.env, LANCELOT_LOCAL_MODEL: tinyModel(), LOCAL_MODEL_CTX: "512" } });
    expect((await small.model()).contextWindow).toBe(512);
  });

  it("can only make whole calls of tools there are, with all that is required, or be cut off", async () => {
    const process_ = createModelProcess({
      entry: fileURLToPath(new URL("../../agent-server/models/local/model-worker.ts", import.meta.url)),
      env: process.env,
      idleMs: 60_000,
      backoffMs: 10,
      load: () => ({
        type: "load",
        runtime: runtimeEntry(),
        model: tinyModel(),
        stamp: "",
        contextSize: 2_048,
        threads: 1,
        gpu: false,
        gpuLayers: null,
      }),
      onChange: () => undefined,
    });
    try {
      // Nothing but a call, so that a model that writes at random makes one.
      const grammar = replyGrammar(tools).replace(/^root .*$/m, String.raw`root ::= "{\"tool\"" call`);
      let whole = 0;
      for (let run = 0; run < 40; run++) {
        let raw = "";
        let done: Done | undefined;
        const request = {
          system: "",
          example: [],
          turns: [{ role: "user" as const, text: `${run}` }],
          grammar,
          maxTokens: 1_200,
          mayRepeat: true,
          temperature: 1.2,
        };
        for await (const event of process_.generate(request, new AbortController().signal)) {
          if (event.type === "done") done = event;
          else raw += event.text;
        }
        expect(raw.startsWith('{"tool": "')).toBe(true);
        if (done?.stop !== "end") continue;
        whole++;
        const made: unknown = JSON.parse(raw);
        const tool = tools.find(({ name }) => name === Object(made).tool);
        expect(tool).toBeDefined();
        expect(Object.keys(Object(made).args)).toEqual(expect.arrayContaining(Array.from(Object(tool?.parameters["required"] ?? []))));
      }
      expect(whole).toBeGreaterThan(10);
    } finally {
      await process_.close();
    }
  });

  it("answers in a schema, whichever it is: what ends holds it", async () => {
    const local = openTiny();
    let whole = 0;
    let held = 0;
    for (const schema of fc.sample(schemas, { numRuns: runs(20, 40), seed: 7 })) {
      const request = { system: "", messages: [user("Go on.")], tools: [], responseSchema: { name: "answer", schema: { ...schema } } };
      let raw = "";
      let done: Finished | undefined;
      const profile = { ...call, maxTokens: 600, temperature: 1.2 };
      for await (const event of local.provider.stream(request, profile, new AbortController().signal)) {
        if (event.type === "text") raw += event.text;
        if (event.type === "done") done = event;
      }
      if (done?.stop !== "end") continue;
      whole++;
      expect(textOf(done)).toBe(raw);
      const answer: unknown = JSON.parse(raw);
      // At random it writes what is no UTF-8, which counts as one character there and as several here, and numbers that no double can hold.
      if (raw.includes("\ufffd") || /\d{16}/.test(raw)) continue;
      held++;
      const { success } = z.fromJSONSchema({ ...schema }).safeParse(answer);
      expect([JSON.stringify(schema), raw, success]).toEqual([JSON.stringify(schema), raw, true]);
    }
    expect(whole).toBeGreaterThan(runs(15, 30));
    expect(held).toBeGreaterThan(runs(7, 15));
  });

  it("that is cut short fails with a message, and the host lives on", async () => {
    const folder = mkdtempSync(join(tmpdir(), "broken-"));
    folders.push(folder);
    const broken = join(folder, "broken.gguf");
    copyFileSync(tinyModel(), broken);
    truncateSync(broken, 200_000);
    const local = openTiny({ env: { ...process.env, LANCELOT_LOCAL_MODEL: broken } });
    await expect(local.model()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("could not be loaded") });
    await expect(ask(local, [user("Hello")])).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is unloaded when nobody asks", async () => {
    const unloaded = Promise.withResolvers<void>();
    const seen: string[] = [];
    const local = openTiny({
      idleMs: 20,
      onState: ({ status }) => {
        if (status !== seen.at(-1)) seen.push(status);
        if (status === "ready") unloaded.resolve();
      },
    });
    await ask(local, [user("Go.")], { maxTokens: 5 });
    await unloaded.promise;
    expect(seen).toEqual(["loading", "loaded", "ready"]);
    expect(local.pid()).toBeUndefined();
    await ask(local, [user("Go.")], { maxTokens: 5 });
  });

  it("leaves no process behind when the host is killed", async () => {
    const host = spawn(process.execPath, [fileURLToPath(new URL("../support/models/hold-model.ts", import.meta.url))], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [first] = await once(host.stdout, "data");
    const pid = Number.parseInt(String(first), 10);
    expect(isAlive(pid)).toBe(true);
    host.kill("SIGKILL");
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { interval: 20 });
  });

  it("ends with the host's orderly close, in the middle of a reply too", async () => {
    const local = openTiny();
    const running = ask(local, [user("Go on.")], { maxTokens: 1_500, onText: () => void local.close() });
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    await local.close();
    expect(local.pid()).toBeUndefined();
  });
});

/** What tasks ask for: objects, lists, choices, within bounds that a grammar can hold. */
const { schema: schemas } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => {
  const name = fc.stringMatching(/^[a-zé"\\ ]{1,8}$/);
  const fields = fc.dictionary(name, tie("schema"), { maxKeys: 3, noNullPrototype: true });
  return {
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.integer({ min: 0, max: 30 }).map((maxLength) => ({ type: "string", maxLength })),
      fc.constantFrom({ type: "boolean" }, { type: "integer" }, { type: "null" }, { type: ["integer", "null"] }),
      fc
        .uniqueArray(fc.oneof(fc.string({ maxLength: 8 }), fc.integer()), { minLength: 1, maxLength: 4 })
        .map((values) => ({ enum: values })),
      fc
        .record({ items: tie("schema"), minItems: fc.integer({ min: 0, max: 2 }), maxItems: fc.integer({ min: 2, max: 4 }) })
        .map((list) => ({ type: "array", ...list })),
      fields.chain((properties) =>
        fc.subarray(Object.keys(properties)).map((required) => ({ type: "object", properties, required, additionalProperties: false })),
      ),
    ),
  };
});

function runtimeEntry(): string {
  const entry = join(localDataDir, "runtime", "node-llama-cpp-3.21.1", "node_modules", "node-llama-cpp", "dist", "index.js");
  expect(existsSync(entry)).toBe(true);
  return entry;
}
