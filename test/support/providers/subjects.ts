import type { ProviderKind } from "../../../agent-server/contract/models.ts";
import type { Connection } from "../../../agent-server/models/providers/types.ts";
import type { Provider, ProviderCall } from "../../../agent-server/models/providers/types.ts";
import { createServerMemory } from "../../../agent-server/models/providers/server-memory.ts";
import type { ModelEvent, ModelRequest } from "../../../agent-server/models/request.ts";
import { createProvider } from "../../../agent-server/models/provider-selection.ts";
import { createGatedFetch } from "../../../agent-server/security/security.ts";
import { startModelServer, type ModelServer, type ModelServerOptions } from "../model-server/server.ts";

/** A provider in one of its modes, as the conformance suite tries it. */
export interface Subject {
  name: string;
  kind: ProviderKind;
  mode: "sdk" | "api";
  /** The address of the model server it is given. */
  mount: Parameters<ModelServer["url"]>[0];
  /** A model that thinks. */
  model: string;
  key: string | null;
  traits: Traits;
}

/** What a provider gives and takes. */
interface Traits {
  /** What of a thought goes back in a loop of tools. */
  replay: "signed" | "encrypted" | "signature_on_call" | "words";
  /** Results of tools that failed are marked. */
  marksErrors: boolean;
  /** A call that cannot be read is given to us; else the provider gives nothing of it and the try fails, to be repeated. */
  givesMalformedCalls: boolean;
  /** Images stand in the results of tools themselves. */
  imagesInResults: boolean;
  /** By what the schema of an answer is told. */
  schema: (body: Record<string, unknown>) => unknown;
  /** What says how much to think. */
  thinking: (body: Record<string, unknown>) => unknown;
  maxTokens: (body: Record<string, unknown>) => unknown;
  /** Files of `test/fixtures/streams` in its format. */
  streams: readonly string[];
  takesTemperature: boolean;
}

const get = (value: unknown, ...path: string[]): unknown =>
  path.reduce((inner, key) => (typeof inner === "object" && inner !== null ? (Reflect.get(inner, key) as unknown) : undefined), value);

const chat: Traits = {
  replay: "words",
  marksErrors: false,
  givesMalformedCalls: true,
  imagesInResults: false,
  schema: (body) => get(body, "response_format", "json_schema", "schema"),
  thinking: (body) => body["reasoning_effort"],
  maxTokens: (body) => body["max_tokens"],
  streams: ["chat", "chat-whole-calls"],
  takesTemperature: true,
};
const responses: Traits = {
  replay: "encrypted",
  marksErrors: false,
  givesMalformedCalls: true,
  imagesInResults: true,
  schema: (body) => get(body, "text", "format", "schema"),
  thinking: (body) => get(body, "reasoning", "effort"),
  maxTokens: (body) => body["max_output_tokens"],
  streams: ["responses"],
  takesTemperature: false,
};

/** One entry a provider; each is tried in both modes. */
const entries: Omit<Subject, "mode">[] = [
  {
    name: "anthropic",
    kind: "anthropic",
    mount: "anthropic",
    model: "claude-sonnet-5-5",
    key: "key-a",
    traits: {
      replay: "signed",
      marksErrors: true,
      givesMalformedCalls: true,
      imagesInResults: true,
      schema: (body) => get(body, "output_config", "format", "schema"),
      thinking: (body) => get(body, "output_config", "effort"),
      maxTokens: (body) => body["max_tokens"],
      streams: ["anthropic", "anthropic-redacted"],
      takesTemperature: false,
    },
  },
  { name: "openai", kind: "openai", mount: "openai", model: "gpt-6.1-sol", key: "key-o", traits: responses },
  {
    name: "gemini",
    kind: "gemini",
    mount: "gemini",
    model: "gemini-3.8-flash",
    key: "key-g",
    traits: {
      replay: "signature_on_call",
      marksErrors: true,
      givesMalformedCalls: false,
      imagesInResults: true,
      schema: (body) => get(body, "generationConfig", "responseJsonSchema"),
      thinking: (body) => get(body, "generationConfig", "thinkingConfig", "thinkingLevel"),
      maxTokens: (body) => get(body, "generationConfig", "maxOutputTokens"),
      streams: ["gemini", "gemini-tools"],
      takesTemperature: true,
    },
  },
  {
    name: "xai",
    kind: "xai",
    mount: "xai",
    model: "grok-4.7",
    key: "key-x",
    traits: { ...responses, streams: ["responses-xai"], takesTemperature: true },
  },
  { name: "openai_compatible", kind: "openai_compatible", mount: "openai_compatible", model: "some-model", key: "key-w", traits: chat },
  { name: "a local server", kind: "local", mount: "openai_compatible", model: "some-model", key: null, traits: chat },
];

export const subjects: readonly Subject[] = entries.flatMap((entry) => (["sdk", "api"] as const).map((mode) => ({ ...entry, mode })));

const gatedFetch = createGatedFetch({ env: {} });

/** The connection to a server, by the product's own gate to the network. */
export function connect(subject: Subject, baseUrl: string, more: Partial<Connection> = {}): Connection {
  return {
    kind: subject.kind,
    displayName: "Our cluster",
    baseUrl,
    key: subject.key,
    fetch: gatedFetch([new URL(baseUrl).origin]),
    mode: subject.mode,
    memory: createServerMemory(),
    ...more,
  };
}

export interface Running {
  provider: Provider;
  connection: Connection;
  server: ModelServer;
}

/** A provider and the server it talks to. */
export async function run(subject: Subject, options: ModelServerOptions, more: Partial<Connection> = {}): Promise<Running> {
  const server = await startModelServer({ ...(subject.key === null ? {} : { keys: [subject.key] }), ...options });
  const connection = connect(subject, server.url(subject.mount), more);
  return { provider: createProvider(connection), connection, server };
}

type Done = Extract<ModelEvent, { type: "done" }>;

export interface Collected {
  events: ModelEvent[];
  text: string;
  thinking: string;
  done: Done;
  calls: { id: string; name: string; args: Record<string, unknown> }[];
  /** What of the answer is text, as it will be replayed. */
  final: string;
}

/** One try of one answer, to its end. */
export async function collect(
  provider: Provider,
  request: Partial<ModelRequest>,
  call: Partial<ProviderCall> & { model: string },
  signal = new AbortController().signal,
): Promise<Collected> {
  const full: ModelRequest = {
    system: "",
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
    tools: [],
    ...request,
  };
  const filled: ProviderCall = { maxTokens: 1000, temperature: undefined, thinking: undefined, ...call };
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(full, filled, signal)) events.push(event);
  const done = events.at(-1);
  if (done?.type !== "done") throw new Error("the stream had no end");
  const join = (type: "text" | "thinking"): string => events.map((event) => (event.type === type ? event.text : "")).join("");
  return {
    events,
    text: join("text"),
    thinking: join("thinking"),
    done,
    calls: done.content.flatMap((part) => (part.type === "tool_call" ? [{ id: part.id, name: part.name, args: part.args }] : [])),
    final: done.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
  };
}
