import type { Dispatcher, FormData as UndiciFormData, RequestInit as UndiciInit } from "undici";
import { LancelotError } from "../contract/errors.ts";
import { checkedLookup, isLoopbackHost, reachOf, unbracket } from "./addresses.ts";
import type { GatedFetch } from "./types.ts";

/** Redirects that one request follows. */
const maxRedirects = 5;
/** What may go along when a redirect leads to another named origin: nothing that could be a credential. */
const harmlessHeaders = new Set(["accept", "accept-encoding", "accept-language", "content-type", "if-range", "range", "user-agent"]);

/** Milliseconds. A model may think for minutes before its first byte; who asks also holds an AbortSignal. */
const timeouts = { connect: 15_000, silence: 600_000 };

/**
 * The one way to the network. A fetch of it reaches the named origins only: https, or http on this machine. Names must resolve to
 * public addresses (names of this machine to loopback ones); an IP address is taken when the owner named that very origin, except
 * link-local ones, where clouds keep their credentials. Proxy settings of the environment hold for everything but this machine;
 * a proxy resolves names itself, so the check of addresses is then its own. Refusals are thrown as `denied`.
 */
export function createGatedFetch(deps: { env?: NodeJS.ProcessEnv; lookup?: ReturnType<typeof checkedLookup> } = {}): GatedFetch {
  const env = deps.env ?? process.env;
  const options = {
    allowH2: false,
    headersTimeout: timeouts.silence,
    bodyTimeout: timeouts.silence,
    connect: { timeout: timeouts.connect, lookup: (deps.lookup ?? checkedLookup()) as never },
  };
  /** Loaded with the first request: a host that asks nobody does without its half megabyte of code. */
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
      // Refused before anything is loaded for it.
      if (!named.has(url.origin)) throw new LancelotError("denied", `${url.origin} is not an address this request may reach.`);
      const { fetch: send, FormData: Form, direct, proxied } = await (loading ??= load());
      let init = toUndiciInit(input, given, Form);
      for (let redirects = 0; ; redirects += 1) {
        if (!named.has(url.origin)) throw new LancelotError("denied", `${url.origin} is not an address this request may reach.`);
        const dispatcher: Dispatcher = isLoopbackHost(url.hostname) ? direct : proxied;
        const response = await send(url, { ...init, redirect: "manual", dispatcher }).catch((error: unknown) => {
          throw refusalWithin(error) ?? error;
        });
        const location = response.headers.get("location");
        if (![301, 302, 303, 307, 308].includes(response.status) || location === null || given.redirect === "manual") return response;
        await response.body?.cancel();
        if (given.redirect === "error" || redirects === maxRedirects) {
          throw new LancelotError(
            "unavailable",
            `${url.origin} redirects ${given.redirect === "error" ? "" : "too often "}instead of answering.`,
          );
        }
        const target = URL.canParse(location, url) ? new URL(location, url) : null;
        if (target === null || !named.has(target.origin)) {
          throw new LancelotError(
            "denied",
            `${url.origin} redirects to ${target?.origin ?? "an address that cannot be read"}, which this request may not reach. If that is where it should go, set it as the address.`,
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
  if (!URL.canParse(address))
    throw new LancelotError("invalid_params", `${address.slice(0, 200)} is not an address. Write it as https://host.`);
  const url = new URL(address);
  const host = unbracket(url.hostname);
  const loopback = isLoopbackHost(host);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw new LancelotError(
      "denied",
      `${url.origin === "null" ? url.protocol : url.origin} is not encrypted. Use https; http is for this machine (localhost) only.`,
    );
  }
  if (isNeverReached(host))
    throw new LancelotError("denied", `${url.origin} is an address of the local link or of no machine, so it is never contacted.`);
  return url.origin;
}

/** Literal addresses that are refused even when named: link-local (cloud metadata), unspecified, broadcast, multicast. */
function isNeverReached(host: string): boolean {
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

/** The form classes of the platform and of undici do not know each other. */
function copyForm(form: FormData, copy: UndiciFormData): UndiciFormData {
  for (const [name, value] of form) {
    if (typeof value === "string") copy.append(name, value);
    else copy.append(name, value, value.name);
  }
  return copy;
}

function afterRedirect(init: UndiciInit, status: number, elsewhere: boolean): UndiciInit {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && init.method === "POST");
  if (!becomesGet && init.body instanceof ReadableStream) {
    throw new LancelotError("unavailable", "The server redirects, and what was being sent to it cannot be sent a second time.");
  }
  const headers = (init.headers as [string, string][]).filter(
    ([name]) => !(elsewhere && !harmlessHeaders.has(name.toLowerCase())) && !(becomesGet && name.toLowerCase().startsWith("content-")),
  );
  return { ...init, headers, ...(becomesGet ? { method: "GET", body: null } : {}) };
}

/** The gate's own refusal, which the socket layer wraps. */
function refusalWithin(error: unknown): LancelotError | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof LancelotError) return inner;
    if (inner instanceof AggregateError) return inner.errors.map(refusalWithin).find((found) => found !== null) ?? null;
  }
  return null;
}
