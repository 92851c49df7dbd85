// @module-tag local-model
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { intents } from "../../agent-server/contract/intent.ts";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import { openCatalog } from "../../agent-server/models/local/catalog.ts";
import type { Embedder } from "../../agent-server/models/local/embedding.ts";
import { createVerifier } from "../../agent-server/models/local/verify.ts";
import type { Provider } from "../../agent-server/models/providers/types.ts";
import { decide } from "../../agent-server/models/tasks/intent.ts";
import { readIntentWeights } from "../../agent-server/models/tasks/intent-classifier.ts";
import { cuesOf } from "../../agent-server/models/tasks/intent-cues.ts";
import type { IntentSample } from "../support/models/intent-samples.ts";
import { intentSamples } from "../support/models/intent-samples.ts";
import { openEmbedder, prepareIntentModel } from "../support/models/intent-model.ts";
import { localDataDir, openLocal, prepareLocalModel, tinyModel } from "../support/models/local-models.ts";
import { randomSchema } from "../support/models/random-schemas.ts";
import { ableModel, configDir, createTasksFixture, type TasksFixture } from "../support/models/tasks-fixture.ts";
import { itInSoak, runs } from "../support/soak.ts";

const missing = (await prepareLocalModel()) ?? (await prepareIntentModel());
const signal = new AbortController().signal;
const fixtures: TasksFixture[] = [];
function openFixture(...over: Parameters<typeof createTasksFixture>): TasksFixture {
  const fixture = createTasksFixture(...over);
  fixtures.push(fixture);
  return fixture;
}
afterEach(() => {
  for (const fixture of fixtures.splice(0)) fixture.close();
});

describe.skipIf(missing !== null)("the intent lane", () => {
  let embedder: Embedder;
  const weights = readIntentWeights(configDir);
  beforeAll(() => {
    embedder = openEmbedder();
  });
  afterAll(() => embedder.close());

  it("is right on nine of ten requests it never saw, of every kind, and knows when it is not sure", async () => {
    const judged: { sample: IntentSample; reported: ReturnType<typeof decide> }[] = [];
    for (const sample of intentSamples("held-out")) {
      const { vector } = await embedder.embed(cuesOf(sample.text).words, signal);
      judged.push({ sample, reported: decide(weights, vector, sample.text) });
    }
    const accuracy = (of: typeof judged) => of.filter(({ sample, reported }) => reported.intent === sample.intent).length / of.length;
    expect(accuracy(judged)).toBeGreaterThanOrEqual(0.9);
    for (const intent of intents) expect(accuracy(judged.filter(({ sample }) => sample.intent === intent)), intent).toBeGreaterThan(0.8);
    const sure = judged.filter(({ reported }) => reported.confidence >= 0.8);
    expect(sure.length / judged.length).toBeGreaterThan(0.75);
    expect(accuracy(sure)).toBeGreaterThan(accuracy(judged.filter(({ reported }) => reported.confidence < 0.8)));
    // Calibrated: what it says of itself on average is how often it is right.
    const mean = judged.reduce((sum, { reported }) => sum + reported.confidence, 0) / judged.length;
    expect(Math.abs(mean - accuracy(judged))).toBeLessThan(0.06);
    const changing = judged.filter(({ sample }) => sample.writes);
    expect(changing.filter(({ reported }) => reported.risk === "high").length / changing.length).toBeGreaterThan(0.95);
  });

  it("puts texts that mean the same near each other, in vectors of length one", async () => {
    const texts = ["Fix the failing test", "repair the broken test", "what is a monad?"];
    const [one, same, other] = await Promise.all(texts.map(async (text) => (await embedder.embed(text, signal)).vector));
    const dot = (a: Float32Array = new Float32Array(), b: Float32Array = new Float32Array()) =>
      a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
    expect(dot(one, one)).toBeCloseTo(1, 4);
    expect(dot(one, same)).toBeGreaterThan(0.7);
    expect(dot(one, other)).toBeLessThan(0.2);
  });

  it("takes a text of any length", async () => {
    for (const text of ["a", "word ".repeat(20_000), "日本語".repeat(500)])
      expect((await embedder.embed(text, signal)).vector).toHaveLength(weights.embedding);
    for (const text of ["", "\u0000\ud800"]) await expect(embedder.embed(text, signal)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("classifies with a receipt of its own", async () => {
    const { tasks, receipts, decisions, context } = openFixture({ embedder });
    await embedder.embed("warm", signal);
    const reported = await tasks.classifyIntent({ text: "Could you rename the variable in src/cart.ts?" }, context);
    expect(reported).toMatchObject({ intent: "EXEC_REQUEST", method: "embedding", requiresTools: true, risk: "high" });
    expect(receipts()).toMatchObject([
      {
        actionType: "llm_call",
        actionName: "local/classify_intent",
        status: "success",
        metadata: { lane: "local_utility", method: "embedding" },
      },
    ]);
    expect(decisions.map(({ success }) => success)).toEqual([true]);
  });

  it("goes by rules after its process was killed, and comes back", async () => {
    const mine = openEmbedder({ backoffMs: 200 });
    const { tasks, receipts, context } = openFixture({ embedder: mine });
    try {
      // The first one does not wait for the lane to be loaded.
      expect(await tasks.classifyIntent({ text: "Run the tests" }, context)).toMatchObject({ method: "rules" });
      await vi.waitFor(() => expect(mine.warm()).toBe(true));
      expect(await tasks.classifyIntent({ text: "Run the tests" }, context)).toMatchObject({ method: "embedding" });
      process.kill(mine.pid() ?? 0, "SIGKILL");
      await vi.waitFor(() => expect(mine.pid()).toBeUndefined());
      expect(await tasks.classifyIntent({ text: "Run the tests" }, context)).toMatchObject({ intent: "EXEC_REQUEST", method: "rules" });
      expect(mine.state().problem).not.toBeNull();
      await vi.waitFor(
        async () => expect(await tasks.classifyIntent({ text: "Run the tests" }, context)).toMatchObject({ method: "embedding" }),
        {
          interval: 50,
        },
      );
      expect(mine.state()).toEqual({ status: "ready", problem: null });
      const reasons = receipts().map(({ metadata }) => metadata["reason"]);
      expect(reasons).toContainEqual(expect.stringContaining("ended unexpectedly"));
    } finally {
      await mine.close();
    }
  });

  it.skipIf(process.platform === "win32")("goes by rules where its process hangs, and starts another", async () => {
    const mine = openEmbedder({ timeoutMs: 1_000 });
    try {
      await vi.waitFor(() => expect(mine.warm()).toBe(true));
      const before = mine.pid() ?? 0;
      process.kill(before, "SIGSTOP");
      const { tasks, context } = openFixture({ embedder: mine });
      expect(await tasks.classifyIntent({ text: "Run the tests" }, context)).toMatchObject({ method: "rules" });
      await vi.waitFor(() => expect(mine.pid()).not.toBe(before));
      await vi.waitFor(() => expect(mine.warm()).toBe(true));
      expect((await mine.embed("again", signal)).vector.length).toBeGreaterThan(0);
    } finally {
      await mine.close();
    }
  });

  it("stops on request", async () => {
    await expect(embedder.embed("x", AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });

  describe("over a folder of its own", () => {
    let folder: string;
    const model = openCatalog(configDir, localDataDir).catalog.intent;
    const file = () => join(folder, model?.file ?? "");
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "lancelot-intent-"));
      cpSync(join(localDataDir, "models", model?.file ?? ""), file());
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));
    const open = () => openEmbedder({ folder, verifier: createVerifier(folder) });

    it("is absent while its file is not there or not whole, and says so", async () => {
      truncateSync(file(), 1_000_000);
      const mine = open();
      expect(mine.state().status).toBe("absent");
      expect(mine.missingBytes()).toBe(model?.source.bytes);
      await expect(mine.embed("x", signal)).rejects.toMatchObject({ code: "unavailable" });
      await mine.close();
    });

    it("does not load weights that were damaged, and names the next step", async () => {
      const bytes = readFileSync(file());
      bytes.fill(7, 10_000_000, 10_000_064);
      writeFileSync(file(), bytes);
      const mine = open();
      await expect(mine.embed("x", signal)).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("damaged") });
      expect(mine.state()).toMatchObject({ status: "failed", problem: expect.stringContaining("Download it again") });
      await mine.close();
    });

    it("is gone after it was deleted", async () => {
      const mine = open();
      await mine.embed("x", signal);
      await mine.remove();
      expect(mine.state().status).toBe("absent");
      expect(mine.pid()).toBeUndefined();
      await mine.close();
    });
  });
});

describe.skipIf(missing !== null)("answers in a grammar", () => {
  const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: tinyModel() } });
  afterAll(() => local.close());

  it("always parse, over a thousand random schemas and texts; only one that was cut off does not", async () => {
    const counts = { parsed: 0, held: 0, cut: 0 };
    await fc.assert(
      fc.asyncProperty(randomSchema(), fc.string({ unit: "grapheme", maxLength: 60 }), async (schema, text) => {
        const { answer, stop } = await answerOf(schema, text);
        if (stop === "max_tokens") {
          counts.cut++;
          return;
        }
        // Throws where it does not parse.
        const value: unknown = JSON.parse(answer);
        counts.parsed++;
        if (z.fromJSONSchema(schema).safeParse(value).success) counts.held++;
      }),
      { numRuns: runs(150, 1_000) },
    );
    expect(counts.parsed + counts.cut).toBe(runs(150, 1_000));
    expect(counts.cut).toBeLessThan(runs(15, 50));
    // Ranges and patterns are beyond a grammar; what comes out of the task is checked, as the next test shows.
    expect(counts.held).toBeGreaterThan(runs(75, 650));
  });

  async function answerOf(schema: Record<string, unknown>, text: string): Promise<{ answer: string; stop: string }> {
    const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: text === "" ? "x" : text }] }];
    const request = { system: "", messages, tools: [], maxTokens: 200, responseSchema: { name: "answer", schema } };
    let answer = "";
    for await (const event of local.provider.stream(request, { model: "", maxTokens: 200, temperature: 1, thinking: undefined }, signal)) {
      if (event.type === "text") answer += event.text;
      if (event.type === "done") return { answer, stop: event.stop };
    }
    throw new Error("the stream ended without an answer");
  }

  it("that do not hold their schema, or were cut off, never get through: the rules stand in, or it is said", async () => {
    const stream: Provider["stream"] = (request, call, stop) => local.provider.stream(request, { ...call, temperature: 1 }, stop);
    const { tasks, receipts, context } = openFixture({ model: () => ableModel, stream });
    const methods = { model: 0, rules: 0, embedding: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(randomSchema(), fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), async (schema, text) => {
        try {
          const { value, method } = await tasks.extractJson(text, schema, context);
          expect(z.fromJSONSchema(schema).safeParse(value).success).toBe(true);
          methods[method]++;
        } catch (error) {
          if (!(error instanceof LancelotError)) throw error;
          expect(error).toMatchObject({ code: "unavailable" });
          methods.none++;
        }
      }),
      { numRuns: runs(20, 60) },
    );
    expect(methods.model).toBeGreaterThan(runs(5, 30));
    const failed = receipts().filter(({ actionType, status }) => actionType === "llm_call" && status === "failure");
    for (const { errorMessage } of failed) expect(errorMessage).toMatch(/schema|truncated/);
  });
});

describe.skipIf(missing !== null)("TinyLlama, allowed every task", () => {
  const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: "" } });
  afterAll(() => local.close());
  const open = () => openFixture({ model: () => ({ ...ableModel, contextWindow: 2_048 }), stream: local.provider.stream });

  it("extracts what a schema asks for", async () => {
    const { tasks, receipts, context } = open();
    const schema = z.toJSONSchema(z.object({ name: z.string(), port: z.int() }));
    const { value } = await tasks.extractJson("The service billing listens on port 8081.", schema, context);
    expect(value).toMatchObject({ name: expect.any(String), port: expect.any(Number) });
    expect(receipts()[0]).toMatchObject({ actionType: "llm_call", actionName: "local/extract_json" });
  });

  itInSoak("is asked for a kind and for names, and whatever it says, what comes out holds", async () => {
    const { tasks, receipts, context } = open();
    expect(intents).toContain((await tasks.classifyIntent({ text: "Fix the bug in the parser" }, context)).intent);
    const text = "Please send it to Ms. Johanna Weber, johanna.weber@nordwind-kontor.de.";
    const { matches } = await tasks.redact(text, context);
    expect(matches.map(({ start, end }) => text.slice(start, end))).toContain("johanna.weber@nordwind-kontor.de");
    expect(
      receipts()
        .filter(({ actionType }) => actionType === "llm_call")
        .map(({ metadata }) => metadata["lane"]),
    ).toEqual(["local_utility", "local_redaction"]);
  });
});
