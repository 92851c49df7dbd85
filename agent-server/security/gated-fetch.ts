import type { Dispatcher, FormData as UndiciFormData, RequestInit as UndiciInit } from "undici";
import { LancelotError } from "../contract/errors.ts";
import { checkedLookup, isLoopbackHost, reachOf, unbracket } from "./addresses.ts";
import type { GatedFetch } from "./types.ts";

/** Maximum redirects per request. */
const maxRedirects = 5;
/** Headers that are sent after a redirect to another origin; none can contain credentials. */
const crossOriginHeaders = new Set(["accept", "accept-encoding", "accept-language", "content-type", "if-range", "range", "user-agent"]);

/** Milliseconds. A model may reason for minutes before its first byte; callers also have an AbortSignal. */
const timeouts = { connect: 15_000, silence: 600_000 };

/**
 * Creates the host's only network access (besides `createPageFetch`). A fetch reaches only the given origins: https, or http on this
 * machine. Names must resolve to public addresses (`localhost` names to loopback). IP addresses are allowed when the origin is given,
 * except link-local ones, where cloud providers serve credentials. Proxy settings of the environment apply to all other machines; a proxy
 * resolves names itself, so it must check the addresses.
 * @throws LancelotError `denied` for blocked requests
 */
export function createGatedFetch(deps: { env?: NodeJS.ProcessEnv; lookup?: ReturnType<typeof checkedLookup> } = {}): GatedFetch {
  const env = deps.env ?? process.env;
  const options = {
    allowH2: false,
    headersTimeout: timeouts.silence,
    bodyTimeout: timeouts.silence,
    connect: { timeout: timeouts.connect, lookup: (deps.lookup ?? checkedLookup()) as never },
  };
  /** Loads undici on the first request, because it is half a megabyte of code. */
  const load = async () => {
    const undici = await import("./undici.ts");
    const proxied = new undici.EnvHttpProxyAgent({
      ...options,
      httpProxy: env["http_proxy"] ?? env["HTTP_PROXY"] ?? "",
      httpsProxy: env["https_proxy"] ?? env["HTTPS_PROXY"] ?? "",
      noProxy: env["no_proxy"] ?? env["NO_PROXY"] ?? "",
    });
    return { fetch: undici.fetch, FormData: undici.FormData, direct: new undici.Agent(options), proxied };
  };
  let loading: ReturnType<typeof load> | undefined;

  return (origins) => {
    const named = new Set(origins.map(namedOrigin));
    return (async (input: string | URL | Request, given: RequestInit = {}) => {
      let url = new URL(input instanceof Request ? input.url : input);
      // Checked before undici is loaded.
      if (!named.has(url.origin)) throw new LancelotError("denied", `This request is not allowed to reach ${url.origin}.`);
      const { fetch: send, FormData: Form, direct, proxied } = await (loading ??= load());
      let init = toUndiciInit(input, given, Form);
      for (let redirects = 0; ; redirects += 1) {
        if (!named.has(url.origin)) throw new LancelotError("denied", `This request is not allowed to reach ${url.origin}.`);
        const dispatcher: Dispatcher = isLoopbackHost(url.hostname) ? direct : proxied;
        const response = await send(url, { ...init, redirect: "manual", dispatcher }).catch((error: unknown) => {
          throw findLancelotError(error) ?? error;
        });
        const location = response.headers.get("location");
        if (![301, 302, 303, 307, 308].includes(response.status) || location === null || given.redirect === "manual") return response;
        await response.body?.cancel();
        if (given.redirect === "error" || redirects === maxRedirects) {
          throw new LancelotError(
            "unavailable",
            `${url.origin} ${given.redirect === "error" ? "redirects" : "redirects too often"} instead of answering.`,
          );
        }
        const target = URL.canParse(location, url) ? new URL(location, url) : null;
        if (target === null || !named.has(target.origin)) {
          throw new LancelotError(
            "denied",
            `${url.origin} redirects to ${target?.origin ?? "an invalid address"}, which this request is not allowed to reach. To allow it, set it as the address.`,
          );
        }
        init = afterRedirect(init, response.status, target.origin !== url.origin);
        url = target;
      }
    }) as unknown as typeof fetch;
  };
}

/** The origin of an address from the configuration, refused when nothing may go there in the open or at all. */
function namedOrigin(address: string): string {
  if (!URL.canParse(address)) throw new LancelotError("invalid_params", `${address.slice(0, 200)} is not a URL. Write it as https://host.`);
  const url = new URL(address);
  const host = unbracket(url.hostname);
  const loopback = isLoopbackHost(host);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw new LancelotError(
      "denied",
      `${url.origin === "null" ? url.protocol : url.origin} is not encrypted. Use https; http is allowed for localhost only.`,
    );
  }
  if (isAlwaysBlocked(host))
    throw new LancelotError("denied", `${url.origin} is a link-local or reserved address, so it is always blocked.`);
  return url.origin;
}

/** IP addresses that are always blocked: link-local (cloud metadata), unspecified, broadcast, multicast. */
function isAlwaysBlocked(host: string): boolean {
  if (!/^[\d.]+$|:/.test(host) || reachOf(host) !== "internal") return false;
  return /^(?:169\.254\.|0\.|22[4-9]\.|23\d\.|255\.|fe[89ab]|ff|::$|::ffff:)/i.test(host) || host === "fd00:ec2::254";
}

function toUndiciInit(input: string | URL | Request, given: RequestInit, Form: new () => UndiciFormData): UndiciInit {
  const request = input instanceof Request ? input : null;
  const body = given.body ?? request?.body ?? null;
  const init: Record<string, unknown> = {
    ...given,
    method: given.method ?? request?.method ?? "GET",
    headers: [...new Headers(given.headers ?? request?.headers)],
    body: body instanceof FormData ? copyForm(body, new Form()) : body,
    signal: given.signal ?? request?.signal ?? null,
  };
  if (body instanceof ReadableStream) init["duplex"] = "half";
  return init;
}

/** Converts the platform's FormData to undici's, which does not accept it. */
function copyForm(form: FormData, copy: UndiciFormData): UndiciFormData {
  for (const [name, value] of form) {
    if (typeof value === "string") copy.append(name, value);
    else copy.append(name, value, value.name);
  }
  return copy;
}

function afterRedirect(init: UndiciInit, status: number, crossOrigin: boolean): UndiciInit {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && init.method === "POST");
  if (!becomesGet && init.body instanceof ReadableStream) {
    throw new LancelotError("unavailable", "The server redirects a streamed request, which cannot be sent twice.");
  }
  const headers = (init.headers as [string, string][]).filter(
    ([name]) => !(crossOrigin && !crossOriginHeaders.has(name.toLowerCase())) && !(becomesGet && name.toLowerCase().startsWith("content-")),
  );
  return { ...init, headers, ...(becomesGet ? { method: "GET", body: null } : {}) };
}

/** Finds our own error inside the errors that the socket layer wraps it in. */
function findLancelotError(error: unknown): LancelotError | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof LancelotError) return inner;
    if (inner instanceof AggregateError) return inner.errors.map(findLancelotError).find((found) => found !== null) ?? null;
  }
  return null;
}
