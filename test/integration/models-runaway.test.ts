import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import type { ModelEvent } from "../../agent-server/models/models.ts";
import { endless, runaway, type Endless } from "../support/model-server/runaway.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { createModelsFixture, failure } from "../support/models-fixture.ts";
import { subjects, type Subject } from "../support/providers/subjects.ts";
import { createProvider } from "../../agent-server/models/provider-selection.ts";
import { connect } from "../support/providers/subjects.ts";
import { sample } from "../support/soak.ts";

// Models and servers that never end what they send: each call ends by a limit, soon, with what came before, and without a flood of retries.

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

const limits = { text: 500_000, thinking: 1_000_000 };
const tries = 2;

async function start(subject: Subject, kind: Endless, router = "") {
  const server = await startModelServer({
    script: ({ format }) => ({
      bytes: runaway(kind, format),
      ...(kind === "a web page" ? { contentType: "text/html" } : kind === "an error body" ? { fault: "http500" as const } : {}),
    }),
  });
  const made = createModelsFixture({
    yaml: `active: work\nproviders:\n  work: { kind: ${subject.kind}, display_name: Work, mode: ${subject.mode}, base_url: "${server.url(subject.mount)}"${subject.key === null ? "" : ", api_key_name: KEY"}, fast: { model: ${subject.model} }, deep: { model: ${subject.model} } }\n`,
    router: `retries: { tries: ${tries} }\nfailover: [work]\n${router}`,
    keys: { KEY: "key" },
    sdkEnabled: () => true,
  });
  open.push(server, made);
  return { server, made };
}

const cases = endless.flatMap((kind) =>
  subjects
    .filter(({ kind: provider }) => provider !== "local")
    .map((subject) => ({ kind, subject, name: subject.name, mode: subject.mode })),
);

/** What stops each kind. */
const stops: Record<Endless, readonly string[]> = {
  "text in small pieces": ["text"],
  "text in large pieces": ["text"],
  thinking: ["thinking"],
  // The parts of Gemini's answers are counted too.
  "text and thinking in turn": ["text", "thinking", "arguments"],
  "arguments of one call": ["arguments"],
  calls: ["calls"],
  "one line": ["event"],
  "one line of no field": ["stream"],
  "one event of many lines": ["event"],
  comments: ["stream"],
  "empty events": ["stream"],
  "unknown events": ["stream"],
  "an error body": [],
  "a web page": [],
};

/** A request, read to its end as the agentic loop does, while the event loop is watched. */
async function readToTheEnd(made: Awaited<ReturnType<typeof start>>["made"], signal = new AbortController().signal) {
  const arrived = { text: 0, thinking: 0 };
  const kinds = new Map<string, number>();
  const before = process.memoryUsage().rss;
  let peak = before;
  // Processor time between two turns of the event loop, because other processes may take the processor for seconds.
  const used = (): number => process.cpuUsage().user / 1000;
  let longest = 0;
  let last = used();
  const watch = setInterval(() => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 10);
  const request = { system: "", messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }], tools: [] };
  const read = async (): Promise<void> => {
    for await (const event of made.models.stream(request, { questId: null, parentId: null, signal, task: { type: "chat", text: "Hello" } }))
      note(event);
  };
  const note = (event: ModelEvent): void => {
    kinds.set(event.type, (kinds.get(event.type) ?? 0) + 1);
    if (event.type === "text" || event.type === "thinking") arrived[event.type] += event.text.length;
  };
  const error = await failure(read());
  clearInterval(watch);
  return { error, arrived, kinds, longest, grew: peak - before };
}

describe("a model that never ends", () => {
  it.each(sample(cases, [({ kind }) => kind, ({ name, mode }) => `${name} ${mode}`], 1))(
    "sends $kind: $name by $mode",
    async ({ kind, subject }) => {
      const { server, made } = await start(subject, kind);
      const { error, arrived, kinds, longest, grew } = await readToTheEnd(made);
      if (stops[kind].length > 0) {
        expect(error).toMatchObject({ code: "too_large", data: { reason: "answer_too_large", retryable: false } });
        expect(stops[kind]).toContain(error.data?.["what"]);
        expect(server.requests).toHaveLength(1);
        expect(kinds.get("retry") ?? 0).toBe(0);
      } else {
        expect(error.code).toBe("unavailable");
        expect(server.requests.length).toBeLessThanOrEqual(2 * tries);
      }
      expect(error.message).toContain("Work");
      expect(error.message.length).toBeLessThan(1000);
      expect(arrived.text).toBeLessThanOrEqual(limits.text);
      expect(arrived.thinking).toBeLessThanOrEqual(limits.thinking);
      // What came before the limit is passed on.
      if (kind === "text in small pieces" || kind === "text in large pieces") expect(arrived.text).toBe(limits.text);
      expect(JSON.stringify(made.receipts()).length).toBeLessThan(100_000);
      // By design 200 ms; the rest is room for garbage collection, and for the server, which is in this process too.
      expect(longest).toBeLessThan(2000);
      expect(grew).toBeLessThan(600_000_000);
    },
  );

  it.each(
    sample(
      cases.filter(({ kind }) => stops[kind].length > 0),
      [({ kind }) => kind],
      1,
    ),
  )("is stopped in the middle of $kind: $name by $mode", async ({ kind, subject }) => {
    const { server, made } = await start(
      subject,
      kind,
      "answer: { max_characters: 10000000, max_thinking_characters: 10000000, max_argument_characters: 10000000, max_calls: 10000 }\n",
    );
    const stop = new AbortController();
    const reading = readToTheEnd(made, stop.signal);
    await server.requested(1);
    await turn();
    stop.abort();
    expect((await reading).error.code).toBe("cancelled");
    await server.closed(1);
  });
});

describe("an answer that breaks off", () => {
  const half = (length: number): Uint8Array[] => {
    const all = runaway("text in small pieces", "anthropic");
    const chunks: Uint8Array[] = [];
    for (let total = 0; total < length; ) {
      const { value } = all.next();
      if (value === undefined) break;
      chunks.push(value);
      total += value.length;
    }
    return chunks;
  };
  const subject = subjects.find(({ kind, mode }) => kind === "anthropic" && mode === "api");

  it.each([
    ["early is begun again", 64_000, tries],
    ["late is kept, and neither begun again nor given to another model", 2_000_000, 1],
  ])("%s", async (_, bytes, requests) => {
    if (subject === undefined) throw new Error("no such provider");
    const server = await startModelServer({ script: () => ({ bytes: half(bytes) }) });
    const made = createModelsFixture({
      yaml: `active: work\nproviders:\n  work: { kind: anthropic, display_name: Work, mode: api, base_url: "${server.url("anthropic")}", api_key_name: KEY, fast: { model: a } }\n`,
      router: `retries: { tries: ${tries} }\n`,
      keys: { KEY: "key" },
    });
    open.push(server, made);
    const { error } = await readToTheEnd(made);
    expect(error).toMatchObject({ code: "unavailable", data: { reason: "cut" } });
    expect(error.data?.["keepsAnswer"] ?? false).toBe(requests === 1);
    expect(server.requests).toHaveLength(requests);
  });
});

describe("a list of models", () => {
  it.each(subjects.filter(({ kind }) => kind !== "local"))("that never ends is given up: $name by $mode", async (subject) => {
    const server = await startModelServer({
      script: () => ({ text: "" }),
      models: Array.from({ length: 3000 }, (_, index) => `${"m".repeat(5000)}-${index}`),
      pageSize: 100,
    });
    open.push(server);
    const provider = createProvider(connect(subject, server.url(subject.mount)));
    const error = await failure(provider.listModels(new AbortController().signal));
    expect(error).toBeInstanceOf(LancelotError);
    expect(error).toMatchObject({ code: "unavailable", data: { reason: "server" } });
  });
});
