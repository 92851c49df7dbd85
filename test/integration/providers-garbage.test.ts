import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import { anthropic } from "../support/model-server/anthropic.ts";
import { gemini } from "../support/model-server/gemini.ts";
import { openAIChat } from "../support/model-server/openai-chat.ts";
import { openAIResponses } from "../support/model-server/openai-responses.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, SentEvent, Turn, WireFormat } from "../support/model-server/turn.ts";
import { createProvider } from "../../agent-server/models/provider-selection.ts";
import { collect, connect, subjects, type Subject } from "../support/providers/subjects.ts";
import { runs, seed } from "../support/soak.ts";

// Streams that no provider should send. Whatever comes, the answer is read or refused in words for the user, and alike in both modes.

const wires = { anthropic, gemini, openai_chat: openAIChat, openai_responses: openAIResponses };
const formats: Record<string, WireFormat> = {
  anthropic: "anthropic",
  openai: "openai_responses",
  gemini: "gemini",
  xai: "openai_responses",
};
const formatOf = ({ kind }: Subject): WireFormat => formats[kind] ?? "openai_chat";

let server: ModelServer;
let sent = Buffer.alloc(0);
let contentType = "text/event-stream";
beforeAll(async () => {
  server = await startModelServer({ script: () => ({ bytes: [sent], contentType }) });
});
afterAll(() => server.close());

interface Outcome {
  code: string;
  reason: unknown;
  message: string;
  text: string;
  calls: unknown[];
}

async function outcomeOf(subject: Subject): Promise<Outcome> {
  const provider = createProvider(connect(subject, server.url(subject.mount)));
  try {
    const answer = await collect(provider, {}, { model: subject.model });
    const calls = answer.calls.map(({ name, args }) => ({ name, args }));
    return { code: "done", reason: null, message: "", text: answer.text, calls };
  } catch (error) {
    if (!(error instanceof LancelotError)) throw error;
    return { code: error.code, reason: error.data?.["reason"], message: error.message, text: "", calls: [] };
  }
}

/** What both modes make of the same bytes. */
async function outcomes(kind: Subject["kind"]): Promise<Outcome> {
  const [first, ...rest] = await Promise.all(subjects.filter((subject) => subject.kind === kind).map(outcomeOf));
  if (first === undefined) throw new Error("no such provider");
  for (const other of rest) expect(other).toEqual(first);
  if (first.code !== "done") {
    expect(first.message).toMatch(/Our cluster|127\.0\.0\.1/);
    expect(first.message).not.toMatch(/Reflect|TypeError|undefined|Cannot|is not a|not iterable|Unexpected token|SyntaxError|JSON at/);
  }
  return first;
}

const encode = ({ event, data }: SentEvent): string => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;

const turn: Turn = {
  thinking: "The user wants both.",
  text: "I read both files first.",
  toolCalls: [
    { name: "read_file", args: { path: "a.ts", deep: { list: [1, null, "x"] } } },
    { name: "list_files", args: {} },
  ],
};

function eventsOf(format: WireFormat): SentEvent[] {
  const request: SeenRequest = {
    format,
    provider: "openai",
    model: "some-model",
    system: "",
    messages: [],
    tools: [],
    raw: { stream_options: { include_usage: true } },
    key: null,
    path: "",
    headers: {},
  };
  return wires[format].events(turn, request);
}

type Path = (string | number)[];

/** Every place in a value. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]))];
}

function replaceAt(value: unknown, path: Path, by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === key ? replaceAt(item, rest, by) : item));
  const copy: Record<string, unknown> = { ...(value as Record<string, unknown>) };
  if (rest.length === 0 && by === undefined) delete copy[String(key)];
  else copy[String(key)] = replaceAt(copy[String(key)], rest, by);
  return copy;
}

/** What stands in place of a field; undefined removes it. */
const garbage = [
  undefined,
  null,
  0,
  -1,
  1.5,
  1e300,
  true,
  "",
  "x",
  "\u0000\uD800",
  [],
  [null],
  [[]],
  {},
  { type: null },
  { type: "unknown_kind" },
];

type Fault =
  | { kind: "field"; event: number; path: number; by: number }
  | { kind: "line"; event: number; data: string }
  | { kind: "order"; from: number; to: number }
  | { kind: "drop" | "repeat" | "rename"; event: number };

const index = fc.nat({ max: 200 });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("field" as const), event: index, path: index, by: index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("line" as const),
      event: index,
      data: fc.oneof(
        fc.constantFrom(
          "null",
          "[]",
          "[null]",
          "1",
          '"x"',
          "{",
          "{}",
          "<html>",
          "[DONE]",
          "undefined",
          '{"error":null}',
          '{"error":5}',
          '{"error":{}}',
          '{"error":"no"}',
        ),
        fc.json(),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("order" as const), from: index, to: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("drop" as const, "repeat" as const, "rename" as const), event: index }) },
);

function apply(events: readonly SentEvent[], one: Fault): SentEvent[] {
  const changed = [...events];
  const at = ("event" in one ? one.event : one.from) % events.length;
  const event = events[at];
  if (event === undefined) return changed;
  if (one.kind === "field") {
    let value: unknown;
    try {
      value = JSON.parse(event.data);
    } catch {
      return changed;
    }
    const paths = pathsIn(value);
    const path = paths[one.path % paths.length] ?? [];
    changed[at] = { ...event, data: JSON.stringify(replaceAt(value, path, garbage[one.by % garbage.length])) ?? "" };
  } else if (one.kind === "line") changed[at] = { ...event, data: one.data.replaceAll(/[\r\n]/g, " ") };
  else if (one.kind === "order") changed.splice(one.to % events.length, 0, ...changed.splice(at, 1));
  else if (one.kind === "drop") changed.splice(at, 1);
  else if (one.kind === "repeat") changed.splice(at, 0, event);
  else changed[at] = { data: event.data, event: "some.other.event" };
  return changed;
}

const kinds = [...new Set(subjects.map(({ kind }) => kind))].filter((kind) => kind !== "local");

describe.each(kinds)("%s", (kind) => {
  const subject = subjects.find((one) => one.kind === kind);
  if (subject === undefined) throw new Error("no such provider");
  const format = formatOf(subject);
  const text = eventsOf(format).map(encode).join("");

  const send = (bytes: string | Buffer, type = "text/event-stream"): Promise<Outcome> => {
    sent = Buffer.from(bytes);
    contentType = type;
    return outcomes(kind);
  };

  it("reads the stream that the faults are made of", async () => {
    expect(await send(text)).toMatchObject({ code: "done", text: turn.text, calls: turn.toolCalls });
  });

  it.each<[string, string]>([
    ["null", "null"],
    ["an array", "[]"],
    ["a number", "7"],
    ["a text", '"x"'],
    ["no JSON", "{nothing"],
    ["words", "hello"],
    ["a web page", "<!doctype html>"],
    ["true", "true"],
    ["an array of events", "[{}]"],
    ["a number that is too large", "1e999"],
  ])("an item that is %s is named as garbage of that provider", async (_, data) => {
    for (const place of [0, 3]) {
      const events = eventsOf(format);
      const outcome = await send(
        [...events.slice(0, place), { data, ...(format === "anthropic" ? { event: "message_delta" } : {}) }, ...events.slice(place)]
          .map(encode)
          .join(""),
      );
      expect(outcome).toMatchObject({ code: "unavailable", reason: "server" });
      expect(outcome.message).toMatch(/^Our cluster sent an event that is no /);
    }
  });

  it("a stream that breaks off inside an item is a broken connection", async () => {
    for (const length of [text.length - 40, Math.floor(text.length / 2)]) {
      const cut = text.slice(0, length).replace(/\n+$/, "");
      const { code, reason } = await send(cut.endsWith("}") ? cut.slice(0, -1) : cut);
      expect([code, reason]).toEqual(["unavailable", "cut"]);
    }
  });

  it.each<[string, (bytes: string) => string | Buffer]>([
    ["a byte order mark", (bytes) => `\uFEFF${bytes}`],
    ["CR as line end", (bytes) => bytes.replaceAll("\n", "\r")],
    ["unknown fields", (bytes) => bytes.replaceAll("data: {", 'retry: 1\nid: 7\nfoo: bar\ndata: {"extra":{"a":[1]},')],
    ["keep-alives", (bytes) => bytes.replaceAll("\n\n", "\n\n: ping\n\ndata:\n\n")],
  ])("%s changes nothing", async (_, change) => {
    expect(await send(change(text))).toMatchObject({ code: "done", text: turn.text, calls: turn.toolCalls });
  });

  it("bytes that are no UTF-8 are shown as such, and end nothing", async () => {
    const bytes = Buffer.from(text.replace("first", "f\u0001rst"));
    const at = bytes.indexOf(1);
    // The stream's text is JSON, in which a control character is an error, and an invalid byte is not.
    bytes[at] = 0xff;
    const outcome = await send(bytes);
    expect(["done", "unavailable"]).toContain(outcome.code);
  });

  it.each(["text/html", "application/json", "text/plain", "application/octet-stream"])("a page as %s is no answer", async (type) => {
    const outcome = await send("<!doctype html><html><body>Sign in</body></html>", type);
    expect(outcome).toMatchObject({ code: "unavailable", reason: "server" });
  });

  it("any fault, and any two of them, end in an answer or in words for the user, alike in both modes", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { minLength: 1, maxLength: 2 }), async (faults) => {
        await send(faults.reduce(apply, eventsOf(format)).map(encode).join(""));
      }),
      { numRuns: runs(60, 1000), ...(seed === undefined ? {} : { seed }) },
    );
  });
});
