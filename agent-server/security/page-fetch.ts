import { createHash } from "node:crypto";
import type { buildConnector, Dispatcher } from "undici";
import { LancelotError } from "../contract/errors.ts";
import { checkedLookup } from "./addresses.ts";

const maxRedirects = 5;
const connectMs = 15_000;

export interface PageRequest {
  /** https. */
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Checks the URL and each redirect target before a request is sent there. @throws LancelotError to block it */
  readonly judge: (url: string, hop: number) => void;
  /** Checks the response head before the body is read. @throws LancelotError to reject it */
  readonly accepts?: (head: PageHead) => void;
  /** Maximum bytes of the decompressed body. */
  readonly maxBytes: number;
  /** Total timeout in ms. */
  readonly timeoutMs: number;
}

export interface PageHead {
  readonly status: number;
  /** Lower case, without parameters; empty when there is none. */
  readonly type: string;
  /** From the content type; null when absent. */
  readonly charset: string | null;
  /** URL after redirects. */
  readonly url: string;
}

export interface PageAnswer extends PageHead {
  /** Intermediate redirect URLs. */
  readonly redirects: readonly string[];
  /** The target of a redirect that was not followed; null otherwise. */
  readonly location: string | null;
  /** Decompressed. */
  readonly body: Buffer;
  readonly sha256: string;
}

/** Fetches one page, file or answer. @throws LancelotError `denied`, `too_large`, `unavailable`, `cancelled`. */
export type PageFetch = (request: PageRequest) => Promise<PageAnswer>;

export interface PageFetchDeps {
  readonly env?: NodeJS.ProcessEnv;
  readonly lookup?: ReturnType<typeof checkedLookup>;
  /** Creates connections; replaces `lookup`. */
  readonly connector?: buildConnector.connector;
}

/**
 * Creates the network access of tools. The caller checks every hop, only public addresses are reachable, and size and time limits apply
 * while the body is read. A POST follows no redirects. Cookies and credentials are neither stored nor sent.
 */
export function createPageFetch(deps: PageFetchDeps = {}): PageFetch {
  const env = deps.env ?? process.env;
  /** Loaded with the first request. */
  let loading: ReturnType<typeof load> | undefined;

  return async (request) => {
    const limit = AbortSignal.timeout(request.timeoutMs);
    const signal = AbortSignal.any([request.signal, limit]);
    const redirects: string[] = [];
    let url = request.url;
    try {
      for (let hop = 0; ; hop += 1) {
        request.judge(url, hop);
        if (new URL(url).protocol !== "https:") throw new LancelotError("denied", "Only https URLs are allowed.");
        const { fetch: send, dispatcher } = await (loading ??= load(deps, env));
        const response = await send(url, {
          method: request.method,
          headers: { ...request.headers },
          body: request.body ?? null,
          redirect: "manual",
          signal,
          dispatcher,
        });
        const next = redirectOf(response, url);
        if (next !== null && request.method === "GET") {
          await response.body?.cancel();
          if (hop === maxRedirects)
            throw new LancelotError("unavailable", `${hostOf(request.url)} redirects too often instead of answering.`);
          redirects.push(next);
          url = next;
          continue;
        }
        const head = { status: response.status, ...contentType(response.headers.get("content-type")), url };
        try {
          if (next === null) request.accepts?.(head);
        } catch (error) {
          await response.body?.cancel();
          throw error;
        }
        const body = await readBody(response.body, request.maxBytes, hostOf(url));
        return {
          ...head,
          redirects: redirects.slice(0, -1),
          location: next,
          body,
          sha256: createHash("sha256").update(body).digest("hex"),
        };
      }
    } catch (error) {
      if (error instanceof LancelotError) throw error;
      if (request.signal.aborted) throw new LancelotError("cancelled", "The request was canceled.", { cause: error });
      throw toNetworkError(error, hostOf(url), limit.aborted ? request.timeoutMs : null);
    }
  };
}

async function load({ lookup, connector }: PageFetchDeps, env: NodeJS.ProcessEnv) {
  const { Agent, EnvHttpProxyAgent, fetch } = await import("./undici.ts");
  const options = {
    allowH2: false,
    // Requests are rare, so connections are closed soon.
    keepAliveTimeout: 1_000,
    pipelining: 0,
    connect: connector ?? { timeout: connectMs, lookup: (lookup ?? checkedLookup()) as never },
  };
  const httpsProxy = env["https_proxy"] ?? env["HTTPS_PROXY"] ?? "";
  const dispatcher: Dispatcher =
    httpsProxy === ""
      ? new Agent(options)
      : new EnvHttpProxyAgent({ ...options, httpProxy: "", httpsProxy, noProxy: env["no_proxy"] ?? env["NO_PROXY"] ?? "" });
  return { fetch, dispatcher };
}

function redirectOf(response: { status: number; headers: { get(name: string): string | null } }, from: string): string | null {
  const location = response.headers.get("location");
  if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return null;
  if (!URL.canParse(location, from)) throw new LancelotError("unavailable", `${hostOf(from)} redirects to an invalid URL.`);
  const target = new URL(location, from);
  target.hash = "";
  return target.href;
}

function contentType(header: string | null): { type: string; charset: string | null } {
  const [type = "", ...parameters] = (header ?? "").split(";");
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(one)?.[1]).find((one) => one !== undefined);
  return { type: type.trim().toLowerCase(), charset: charset?.toLowerCase() ?? null };
}

/** Reads the body and stops at `maxBytes`, counted after decompression. */
async function readBody(stream: AsyncIterable<unknown> | null, maxBytes: number, host: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (stream !== null) {
    for await (const chunk of stream) {
      if (!(chunk instanceof Uint8Array)) continue;
      bytes += chunk.length;
      // Leaving the loop cancels the stream.
      if (bytes > maxBytes)
        throw new LancelotError("too_large", `The response of ${host} is larger than ${megabytes(maxBytes)}, so it was discarded.`);
      chunks.push(chunk);
    }
  }
  return Buffer.concat(chunks, bytes);
}

function megabytes(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${Math.round(bytes / 1024 / 1024)} MB` : `${Math.round(bytes / 1024)} KB`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "The address";
}

/** Converts a network error to a user-facing one; returns our own error when the network error wraps it. */
function toNetworkError(error: unknown, host: string, timeoutMs: number | null): LancelotError {
  const of = (message: string) => new LancelotError("unavailable", message, { cause: error });
  if (timeoutMs !== null) return of(`${host} did not finish its response within ${Math.round(timeoutMs / 1000)} seconds.`);
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof LancelotError) return inner;
    const code = (inner as { code?: unknown }).code;
    if (typeof code !== "string") continue;
    if (code === "ENOTFOUND" || code === "EAI_AGAIN") return of(`${host} was not found. Check the URL and the network connection.`);
    if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) return of(`${host} is unreachable.`);
    if (/CERT|SIGNED|ALTNAME|_ISSUER|UNABLE_TO_VERIFY/.test(code))
      return of(`The certificate of ${host} is invalid (${code}). Nothing was sent.`);
    if (code.startsWith("ERR_SSL") || code === "EPROTO") return of(`The TLS handshake with ${host} failed.`);
    if (code.startsWith("Z_") || code.startsWith("ERR__ERROR") || code === "ERR_PADDING_2" || code.startsWith("ERR_BROTLI"))
      return of(`The response of ${host} could not be decompressed.`);
  }
  return of(`${host} closed the connection before its response was complete.`);
}
