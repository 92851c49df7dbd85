import * as fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import type { ProviderKind } from "../../../../agent-server/contract/models.ts";
import { readMessages } from "../../../../agent-server/models/local/json-lines.ts";
import { createReplyReader } from "../../../../agent-server/models/local/reply.ts";
import { createAnthropic } from "../../../../agent-server/models/providers/anthropic.ts";
import { createGemini } from "../../../../agent-server/models/providers/gemini.ts";
import { createOpenAIChat } from "../../../../agent-server/models/providers/openai-chat.ts";
import { createOpenAIResponses } from "../../../../agent-server/models/providers/openai-responses.ts";
import { readServerSentEvents } from "../../../../agent-server/models/providers/server-sent-events.ts";
import {
  adaptSchema,
  anthropicDialect,
  geminiDialect,
  strictDialect,
  withoutFillers,
} from "../../../../agent-server/models/providers/tool-schema.ts";
import type { Connection, Provider } from "../../../../agent-server/models/providers/types.ts";
import { checkJson, readSchema } from "../../../../agent-server/models/structured-output.ts";
import { createFrames } from "../../../../agent-server/sandbox/container/stream-frames.ts";
import { parseAddress } from "../../../../agent-server/sandbox/container/engine-endpoint.ts";
import { parseListing as parseCopyListing } from "../../../../agent-server/sandbox/copy/copy-listing.ts";
import { readTar } from "../../../../agent-server/sandbox/copy/tar-reader.ts";
import { tarEnd, tarHeader, tarPadding } from "../../../../agent-server/sandbox/copy/tar-writer.ts";
import { readFirstBytes } from "../../../../agent-server/sandbox/egress/client-hello.ts";
import { bytesOf, type Call, type Target } from "../target.ts";

const folder = join(import.meta.dirname, "../../../fixtures/streams");
const stream = (name: string): string => readFileSync(join(folder, `${name}.sse`)).toString("latin1");

/** The bytes in chunks of a size that depends on the input. */
async function* chunks(input: string): AsyncGenerator<Uint8Array> {
  const bytes = bytesOf(input);
  const size = Math.max(1 + (input.length % 61), Math.ceil(bytes.length / 300));
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

/** A provider whose server answers with the input, over its SDK and over plain HTTP; both must tell the same errors. */
function answering(kind: ProviderKind, create: (connection: Connection) => Provider): Call {
  return async (input) => {
    const status = input.length % 17 === 0 ? 400 : 200;
    const type = input.length % 13 === 0 ? "application/json" : "text/event-stream";
    const answer = (): Promise<Response> =>
      Promise.resolve(new Response(ReadableStream.from(chunks(input)) as never, { status, headers: { "content-type": type } }));
    const settled = [];
    for (const mode of ["api", "sdk"] as const) {
      const connection: Connection = { kind, displayName: "A Server", baseUrl: "https://models.example/v1", key: "k", mode, fetch: answer };
      settled.push(await drain(create(connection)).catch((error: unknown) => error));
    }
    for (const one of settled) if (one instanceof Error) throw one;
    return settled;
  };
}

async function drain(provider: Provider): Promise<number> {
  let events = 0;
  const request = { system: "s", messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }], tools: [] };
  const call = { model: "m", maxTokens: 100, temperature: undefined, thinking: undefined };
  for await (const event of provider.stream(request, call, new AbortController().signal)) {
    events += 1;
    // What goes on is JSON: it is stored, sent to the views and replayed.
    JSON.stringify(event);
  }
  return events;
}

const anyValue = fc.jsonValue({ maxDepth: 3 });
const fields = [
  "id",
  "type",
  "delta",
  "index",
  "choices",
  "content",
  "text",
  "usage",
  "finish_reason",
  "item",
  "response",
  "output",
  "error",
  "candidates",
  "parts",
];
const object = fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 6 });
/** Events of JSON with the fields of the formats and any values in them. */
const events = (types: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.tuple(fc.constantFrom(...types, ""), fc.oneof(object, anyValue)), { minLength: 1, maxLength: 12 }).map((all) =>
    all
      .map(([type, value]) => {
        const data = typeof value === "object" && value !== null && !Array.isArray(value) && type !== "" ? { ...value, type } : value;
        return `${type === "" ? "" : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`;
      })
      .join(""),
  );

const words = [
  "data: ",
  "event: ",
  "\n\n",
  "data: [DONE]\n\n",
  ": ping\n\n",
  "null",
  "[]",
  "{}",
  '"',
  "id: 1\n",
  "retry: 1\n",
  '"index":-1',
  '"index":1e9',
  '"error":',
  "\r\r",
];
const provider = (
  name: string,
  kind: ProviderKind,
  create: (connection: Connection) => Provider,
  samples: readonly string[],
  types: readonly string[],
): Target => ({
  name,
  samples: samples.map(stream),
  grammar: events(types),
  words: [...words, ...types],
  open: () => answering(kind, create),
});

const tarFile = (path: string, content: string): string =>
  Buffer.concat([
    tarHeader({ path, kind: "file", mode: 0o644, size: content.length, mtime: 1, uid: 0, gid: 0 }),
    Buffer.from(content),
    tarPadding(content.length),
    tarEnd,
  ]).toString("latin1");

const frame = (kind: number, text: string): string => `${String.fromCharCode(kind)}\0\0\0\0\0\0${String.fromCharCode(text.length)}${text}`;

export const streamTargets: readonly Target[] = [
  {
    name: "server-sent events",
    samples: ["anthropic", "chat", "gemini", "responses"].map(stream),
    words,
    open: () => async (input) => {
      let count = 0;
      for await (const event of readServerSentEvents(chunks(input))) count += event.data.length;
      return count;
    },
  },
  provider(
    "answers of OpenAI, chat",
    "openai_compatible",
    createOpenAIChat,
    ["chat", "chat-whole-calls"],
    ["chat.completion.chunk", "error"],
  ),
  provider(
    "answers of OpenAI, responses",
    "openai",
    createOpenAIResponses,
    ["responses", "responses-xai"],
    [
      ...[
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.completed",
      ],
      ...[
        "response.function_call_arguments.delta",
        "response.reasoning_summary_part.added",
        "response.failed",
        "response.incomplete",
        "error",
      ],
    ],
  ),
  provider(
    "answers of Anthropic",
    "anthropic",
    createAnthropic,
    ["anthropic", "anthropic-redacted"],
    [
      ...[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
      ],
    ],
  ),
  provider("answers of Gemini", "gemini", createGemini, ["gemini", "gemini-tools"], ["", "error"]),
  {
    name: "local model, lines and replies",
    samples: [
      '{"type":"text","id":1,"text":"a"}\n{"type":"done"}\n',
      'Hello. {"tool":"read_file","args":{"path":"a"}}',
      '{"tool": "x", "args": {',
    ],
    words: ['{"tool"', "\n", '"args":', "{", "}"],
    open: () => async (input) => {
      const reader = createReplyReader();
      const step = Math.max(1, Math.ceil(input.length / 300));
      for (let from = 0; from < input.length; from += step) reader.push(input.slice(from, from + step));
      const ended = reader.end();
      const pipe = Readable.from(chunks(input));
      readMessages(
        pipe,
        () => undefined,
        () => undefined,
      );
      await new Promise((resolve) => pipe.once("close", resolve));
      return ended;
    },
  },
  {
    name: "structured answers and schemas",
    samples: [
      '{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}',
      '{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}',
    ],
    words: ['"$ref":"#"', '"type":', '"anyOf":[', '"items":', '"properties":{', '"not":{}', '"pattern":"(a+)+$"'],
    // A schema of a caller that zod does not know is reported to that caller.
    throws: ["Error"],
    open: () => (input) => {
      const schema = recordOf(input);
      if (schema === null) return checkJson(input, readSchema({ type: "object" }));
      const adapted = [strictDialect, anthropicDialect, geminiDialect].map((dialect) => adaptSchema(schema, dialect));
      return [adapted, withoutFillers(schema, schema), checkJson('{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}', readSchema(schema))];
    },
  },
  {
    name: "frames of a container engine",
    samples: [frame(1, "out\n") + frame(2, "err\n"), frame(0, "") + frame(1, "x".repeat(100))],
    throws: ["Error", "FrameError"],
    open: () => async (input) => {
      let bytes = 0;
      const take = createFrames((_, chunk) => (bytes += chunk.length));
      for await (const chunk of chunks(input)) take(chunk);
      return bytes;
    },
  },
  {
    name: "addresses of a container engine",
    samples: [
      "unix:///var/run/docker.sock",
      "tcp://127.0.0.1:2376",
      "npipe:////./pipe/docker_engine",
      "ssh://me@host:22/run/docker.sock",
      "https://[::1]:1",
    ],
    open: () => (input) => parseAddress(input, null),
  },
  {
    name: "archives of a copy",
    samples: [tarFile("a/b.txt", "hello"), tarFile("x".repeat(90), "y".repeat(1_000))],
    throws: ["Error", "TarError"],
    open: () => async (input) => {
      let bytes = 0;
      for await (const item of readTar(chunks(input))) for await (const piece of item.content()) bytes += piece.length;
      return bytes;
    },
  },
  {
    name: "listings of a copy",
    samples: [
      ".\0./a\0./b c\0\x0041ed 4096 1 1700000000 2024-01-01 10:00:00.123456789 +0000 .\n81a4 5 2 1700000000 2024-01-01 10:00:00.123456789 +0000 ./a\n81a4 5 3 1700000000 2024-01-01 10:00:00.1 +0000 ./b c\nend",
    ],
    throws: ["Error", "ListingError"],
    open: () => (input) => parseCopyListing(bytesOf(input), 1_000),
  },
  {
    name: "first bytes of an encrypted connection",
    samples: [
      "\x16\x03\x01\0\x40\x01\0\0\x3c\x03\x03" + "r".repeat(32) + "\0\0\x02\x13\x01\x01\0\0\x11\0\0\0\x0d\0\x0b\0\0\x08a.exampl",
      "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
      "CONNECT a:443 HTTP/1.1\r\n\r\n",
    ],
    open: () => (input) => readFirstBytes(bytesOf(input)),
  },
];

function recordOf(input: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
