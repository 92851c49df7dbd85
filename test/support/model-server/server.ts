import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Accounts } from "./accounts.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { openAIChat } from "./openai-chat.ts";
import { openAIResponses } from "./openai-responses.ts";
import { isRecord, type Script, type SeenRequest, type SentEvent, type Turn, type Wire, type WireFormat } from "./turn.ts";

export interface ModelServerOptions {
  script: Script;
  /** Names of the list calls; one page holds `pageSize` of them. */
  models?: string[];
  pageSize?: number;
  /** Accepted keys; any, or none, where absent. */
  keys?: string[];
  port?: number;
  /** Counts input and caches by itself, as the providers document it; see accounts.ts. */
  accounts?: Accounts;
  /** What else the server would refuse of a request, by path; a text, or null. */
  refuse?: (request: SeenRequest) => { status: number; message: string } | null;
}

export interface ModelServer {
  /** `base_url` for a provider kind. */
  url(kind: "anthropic" | "openai" | "gemini" | "xai" | "openai_compatible"): string;
  readonly requests: readonly SeenRequest[];
  /** Answers the client did not wait for. */
  readonly closedByClient: number;
  /** Resolves when so many requests have come, or answers were given up by the client. */
  requested(count: number): Promise<void>;
  closed(count: number): Promise<void>;
  close(): Promise<void>;
}

const wires: Record<WireFormat, Wire> = { anthropic, gemini, openai_chat: openAIChat, openai_responses: openAIResponses };
const mounts = { anthropic: "/anthropic", openai: "/openai/v1", gemini: "/gemini", xai: "/xai/v1", openai_compatible: "/v1" } as const;

/** A local server that speaks the providers' wire formats and refuses what they would refuse. */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  const waiting: { count: number; of: "requests" | "closed"; resolve: () => void }[] = [];
  const sockets = new Set<Socket>();
  let closedByClient = 0;
  const wake = (): void => {
    for (const one of [...waiting])
      if ((one.of === "requests" ? requests.length : closedByClient) >= one.count) {
        waiting.splice(waiting.indexOf(one), 1);
        one.resolve();
      }
  };
  const reached = (of: "requests" | "closed", count: number): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ of, count, resolve });
      wake();
    });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const provider = Object.entries(mounts).find(([, mount]) => url.pathname.startsWith(`${mount}/`))?.[0] ?? "unknown";
    const format = formatOf(provider, url.pathname);
    const wire = wires[format];
    const key = keyOf(request, url);
    if (options.keys !== undefined && (key === null || !options.keys.includes(key))) {
      const [status, message] = format === "gemini" ? [400, "API key not valid. Please pass a valid API key."] : [401, "invalid x-api-key"];
      return sendJson(response, status, wire.error(status, message));
    }
    if (request.method === "GET")
      return sendJson(response, 200, listModels(provider, options.models ?? ["test-model"], options.pageSize ?? 100, url));
    const raw: unknown = JSON.parse((await readBody(request)) || "{}");
    if (!isRecord(raw)) return sendJson(response, 400, wire.error(400, "not an object"));
    const path = `${url.pathname}${url.search}`;
    if (url.pathname.includes("/cachedContents")) {
      const kept = options.accounts?.keep(request.method ?? "POST", url.pathname, raw) ?? {
        status: 404,
        body: wire.error(404, "Not found"),
      };
      return sendJson(response, kept.status, kept.body);
    }
    const seen: SeenRequest = { format, provider, raw, key, path, headers: request.headers, ...wire.read(raw, url.pathname) };
    requests.push(seen);
    wake();
    const refusal = wire.refuse(raw, url.pathname, request.headers);
    if (refusal !== null) return sendJson(response, 400, wire.error(400, refusal));
    const other = options.refuse?.(seen) ?? null;
    if (other !== null) return sendJson(response, other.status, wire.error(other.status, other.message));
    const asked = await options.script(seen);
    const counted = options.accounts?.count(seen);
    if (counted !== undefined && "refused" in counted) return sendJson(response, 403, wire.error(403, counted.refused));
    const turn = counted === undefined ? asked : { ...asked, usage: { ...asked.usage, ...counted } };
    response.on("close", () => {
      if (response.writableFinished || turn.fault === "cut") return;
      closedByClient++;
      wake();
    });
    await play(wire, turn, seen, response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.destroyed) return;
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    url: (kind) => `http://127.0.0.1:${port}${mounts[kind]}`,
    requests,
    get closedByClient() {
      return closedByClient;
    },
    requested: (count) => reached("requests", count),
    closed: (count) => reached("closed", count),
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function play(wire: Wire, turn: Turn, request: SeenRequest, response: ServerResponse): Promise<void> {
  const { fault } = turn;
  if (fault === "hang") return;
  if (fault === "too_long") return sendJson(response, 400, wire.error(400, wire.tooLong));
  const status = fault?.startsWith("http") === true ? Number(fault.slice(4)) : 200;
  if (status !== 200 && turn.bytes === undefined) {
    if (turn.retryAfter !== undefined) response.setHeader("retry-after", String(turn.retryAfter));
    if (turn.retryAfterMs !== undefined) response.setHeader("retry-after-ms", String(turn.retryAfterMs));
    if (turn.says?.startsWith("<") === true) return sendPage(response, status, turn.says);
    const text = turn.says ?? (status === 404 ? `The model ${request.model} does not exist.` : `this is status ${status}`);
    return sendJson(response, status, wire.error(status, text));
  }
  if (fault === "page") return sendPage(response, 200, "<!doctype html><html><body>Please sign in to the network.</body></html>");
  if (fault === "no_stream") return sendJson(response, 200, { ok: true });
  if (fault === "json_error") return sendJson(response, 200, wire.error(503, "The model is overloaded."));
  if (fault === "redirect") {
    response.writeHead(307, { location: "https://elsewhere.example/v1" });
    response.end();
    return;
  }
  if (turn.bytes !== undefined) {
    response.writeHead(status, { "content-type": turn.contentType ?? "text/event-stream" });
    for (const chunk of turn.bytes) {
      if (response.destroyed) return;
      await write(response, Buffer.from(chunk), turn.chunkBytes);
    }
    response.end();
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  if (turn.stream !== undefined) {
    await write(response, Buffer.from(turn.stream), turn.chunkBytes);
    response.end();
    return;
  }
  const events = wire.events(turn, request);
  const half = Math.ceil(events.length / 2);
  const isHalf = fault === "cut" || fault === "cut_clean" || fault === "hang_midway" || fault === "error_event";
  const sent = fault === "error_event" ? [...events.slice(0, half), wire.errorEvent()] : isHalf ? events.slice(0, half) : events;
  const delayMs = turn.delayMs ?? (fault === "slow" ? 50 : 0);
  for (const [index, event] of sent.entries()) {
    if (index === half) await turn.secondHalf;
    if (response.destroyed) return;
    if (delayMs > 0) await wait(delayMs);
    await write(response, Buffer.from(encode(event)), turn.chunkBytes);
  }
  if (fault === "cut") response.destroy();
  else if (fault !== "hang_midway") response.end();
}

/** Each piece is a chunk of its own on the wire, which is how clients see it again. */
async function write(response: ServerResponse, bytes: Buffer, chunkBytes = bytes.length): Promise<void> {
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    if (response.destroyed) return;
    if (!response.write(bytes.subarray(start, start + chunkBytes))) await drained(response);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off("drain", go);
      response.off("close", go);
      resolve();
    };
    response.on("drain", go);
    response.on("close", go);
  });
}

function encode({ event, data }: SentEvent): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
}

function formatOf(provider: string, path: string): WireFormat {
  if (provider === "anthropic") return "anthropic";
  if (provider === "gemini") return "gemini";
  return path.endsWith("/responses") ? "openai_responses" : "openai_chat";
}

function keyOf(request: IncomingMessage, url: URL): string | null {
  const { authorization } = request.headers;
  const named = request.headers["x-api-key"] ?? request.headers["x-goog-api-key"];
  return authorization?.replace(/^Bearer /, "") ?? (typeof named === "string" ? named : url.searchParams.get("key"));
}

function listModels(provider: string, models: string[], pageSize: number, url: URL): Record<string, unknown> {
  if (provider === "gemini") {
    const start = Number(url.searchParams.get("pageToken") ?? 0);
    const page = models.slice(start, start + pageSize);
    return {
      models: page.map((name) => ({
        name: `models/${name}`,
        displayName: name,
        inputTokenLimit: 1_048_576,
        supportedGenerationMethods: ["generateContent"],
      })),
      ...(start + pageSize < models.length ? { nextPageToken: String(start + pageSize) } : {}),
    };
  }
  if (provider === "anthropic") {
    const after = url.searchParams.get("after_id");
    const start = after === null ? 0 : models.indexOf(after) + 1;
    const page = models.slice(start, start + pageSize);
    const data = page.map((id) => ({
      id,
      type: "model",
      display_name: id,
      created_at: "2026-01-01T00:00:00Z",
      lifecycle: "active",
      max_input_tokens: 200_000,
      max_tokens: 64_000,
    }));
    return { data, has_more: start + pageSize < models.length, first_id: page[0] ?? null, last_id: page.at(-1) ?? null };
  }
  return { object: "list", data: models.map((id) => ({ id, object: "model", created: 1_790_000_000, owned_by: "test" })) };
}

function sendJson(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function sendPage(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8" });
  response.end(page);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
