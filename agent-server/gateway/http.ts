import type { IncomingMessage } from "node:http";
import { type ServerType, serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { httpStatus, LancelotError } from "../contract/errors.ts";
import type { Method } from "../contract/method.ts";
import { type CallContext, methods } from "../contract/table.ts";
import { asLancelotError, type Dispatch } from "./dispatch.ts";
import type { EventHub } from "./events.ts";
import { answerRpc, parseFailure } from "./json-rpc.ts";
import { openApiDocument } from "./openapi.ts";
import { createRateLimit } from "./rate-limit.ts";
import { serveUpgrades } from "./upgrades.ts";
import { attachEvents } from "./websocket.ts";

const maxBodyBytes = 1024 * 1024;
/** Further connections are dropped, so that they cannot use up the file descriptors that the host's own work needs. */
const maxConnections = 500;

export interface GatewayOptions {
  dispatch: Dispatch;
  events: EventHub;
  version: string;
  port: number;
  /** The access of a token's bearer: `any` for methods with access `any`, `owner` for every method, null for none. */
  rights(bearer: string | undefined): "owner" | "any" | null;
  rate: { limit: number; windowMs: number };
  now(): number;
  /** Called for refused requests, for the audit log. */
  onRefused?(why: "unauthorized" | "rate-limited" | "too-large", path: string, transport: "http" | "websocket"): void;
}

export interface Gateway {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  close(): Promise<void>;
}

/** How long (ms) an answer to callers without a token is reused, so that they cannot keep the host busy. */
const readinessMs = 1_000;

/** Readiness for callers without a token, such as a supervisor: without the reasons, which describe the owner's configuration. */
function createReadiness({ dispatch, now }: Pick<GatewayOptions, "dispatch" | "now">): () => Promise<object> {
  let last: { at: number; answer: Promise<object> } | null = null;
  return () => {
    if (last === null || Math.abs(now() - last.at) >= readinessMs) {
      const call: CallContext = { owner: false, signal: new AbortController().signal, transport: "http" };
      const answer = dispatch("health.ready", {}, call).then((state) => ({ ...(state as object), degradedReasons: [] }));
      last = { at: now(), answer };
    }
    return last.answer;
  };
}

/**
 * The loopback gateway: JSON-RPC at `POST /rpc`, every method at `POST /rpc/<name>`, the published REST routes, `GET /openapi.json`
 * and events at `GET /ws`. Answers only requests to a loopback host, without an origin or from a loopback origin, and with a token. `GET /health/live` and `GET /health/ready` need none.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const app = new Hono();
  const readiness = createReadiness(options);
  const rate = createRateLimit(options.rate.limit, options.rate.windowMs);

  app.use(async (c, next) => {
    const reason = nonLocalReason(c.req.header("host"), c.req.header("origin"));
    if (reason !== null) return fail(c, new LancelotError("denied", reason), 403);
    if (c.req.method === "GET" && c.req.path === "/health/live") return next();
    const isKnown = options.rights(bearerOf(c.req.header("authorization"))) !== null;
    if (c.req.method === "GET" && c.req.path === "/health/ready" && !isKnown) return c.json(await readiness());
    if (!isKnown) {
      options.onRefused?.("unauthorized", c.req.path, "http");
      return fail(c, new LancelotError("unauthorized", "Send the gateway's token in the header Authorization: Bearer <token>."));
    }
    const wait = rate.take(options.now());
    if (wait !== null) {
      options.onRefused?.("rate-limited", c.req.path, "http");
      c.header("Retry-After", String(wait));
      return fail(
        c,
        new LancelotError("rate_limited", `Too many requests. Try again in ${wait} s.`, { data: { retryAfterSeconds: wait } }),
      );
    }
    return next();
  });
  app.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: (c) => {
        options.onRefused?.("too-large", c.req.path, "http");
        return refuseBody(c);
      },
    }),
  );

  const callOf = (c: Context): CallContext => ({
    owner: options.rights(bearerOf(c.req.header("authorization"))) === "owner",
    signal: c.req.raw.signal,
    transport: "http",
  });
  const answer = async (c: Context, name: string, params: unknown) => {
    try {
      return c.json((await options.dispatch(name, params, callOf(c))) as object);
    } catch (error) {
      return fail(c, asLancelotError(error));
    }
  };

  // Creating the document blocks the event loop for more than 100 ms.
  let description: string | null = null;
  app.get("/openapi.json", (c) => {
    description ??= JSON.stringify(openApiDocument(options.version));
    return c.body(description, 200, { "Content-Type": "application/json" });
  });
  app.post("/rpc", async (c) => {
    const body = await readJson(c);
    if (!body.ok) return c.json(parseFailure(), 400);
    const answered = await answerRpc(body.value, options.dispatch, callOf(c));
    return answered === undefined ? c.body(null, 204) : c.json(answered);
  });
  for (const [name, method] of Object.entries<Method>(methods)) {
    const handle = async (c: Context) => {
      if (c.req.method === "GET") return answer(c, name, queryParams(c));
      const body = await readJson(c);
      if (!body.ok) return fail(c, new LancelotError("invalid_params", "The request body is not valid JSON."));
      return answer(c, name, { ...(body.value as object), ...c.req.param() });
    };
    app.post(`/rpc/${name}`, handle);
    for (const route of [method.route, method.alias]) if (route) app.on(route.method, route.path.replace(/\{(\w+)\}/g, ":$1"), handle);
  }
  app.notFound((c) =>
    fail(c, new LancelotError("not_found", `There is no route ${c.req.method} ${c.req.path}. GET /openapi.json lists the routes.`)),
  );
  app.onError((error, c) => fail(c, asLancelotError(error)));

  const server = await listen(app, options.port);
  server.maxConnections = maxConnections;
  const sockets = serveUpgrades(server, {
    maxMessageBytes: maxBodyBytes,
    refusal(request) {
      if (nonLocalReason(request.headers.host, request.headers.origin) !== null) return 403;
      if (options.rights(bearerOf(request.headers.authorization) ?? protocolBearer(request)) === null) {
        options.onRefused?.("unauthorized", "/ws", "websocket");
        return 401;
      }
      // Compares the text: a target need not parse as an address.
      return request.url?.split("?")[0] === "/ws" ? null : 404;
    },
    attach: (client) => attachEvents(client, options.events),
  });

  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const client of sockets.clients) client.terminate();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      });
    },
  };
}

function listen(app: Hono, port: number): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, () => resolve(server));
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new LancelotError("conflict", `Port ${port} is in use. Choose another port, or 0 for any free port.`, { cause: error })
          : error,
      ),
    );
  });
}

function fail(c: Context, error: LancelotError, status: number = httpStatus[error.code]) {
  return c.json({ error: error.toBody() }, status as ContentfulStatusCode);
}

/** Closes the connection, because the rest of the body is not read. */
function refuseBody(c: Context) {
  c.header("Connection", "close");
  return fail(c, new LancelotError("too_large", "The request body is larger than 1 MB."));
}

function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S+)$/.exec(header ?? "")?.[1];
}

/** Browsers cannot set headers on a WebSocket, so the subprotocol `bearer.<token>` can carry the token. */
function protocolBearer(request: IncomingMessage): string | undefined {
  return (request.headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .find((name) => name.startsWith("bearer."))
    ?.slice("bearer.".length);
}

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/** Why a request is not local (DNS rebinding, a web page); null when it may be. */
function nonLocalReason(host: string | undefined, origin: string | undefined): string | null {
  if (host === undefined || !loopbackHost.test(host)) return "The gateway only answers requests to 127.0.0.1 or localhost.";
  if (origin === undefined) return null;
  const url = URL.canParse(origin) ? new URL(origin) : null;
  return url !== null && loopbackHost.test(url.host) ? null : "The gateway does not answer web pages of other origins.";
}

async function readJson(c: Context): Promise<{ ok: true; value: unknown } | { ok: false }> {
  const text = await c.req.text();
  if (text.trim() === "") return { ok: true, value: {} };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

/** Query and path parameters of a GET route, with numbers and booleans converted from strings. */
function queryParams(c: Context): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ ...c.req.query(), ...c.req.param() }).map(([key, value]) => [
      key,
      /^-?\d+$/.test(value) ? Number(value) : value === "true" ? true : value === "false" ? false : value,
    ]),
  );
}
