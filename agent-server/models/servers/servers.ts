import { trimEnd } from "../../contract/trim-end.ts";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { LocalServer } from "../../contract/models.ts";
import type { GatedFetch } from "../../security/security.ts";
import { createAsk, readText } from "./server-request.ts";
import { displayNames, ModelList, recognise } from "./server-kinds.ts";
import { holdsSchema } from "./structured-output-probe.ts";

export interface ServersDeps {
  gatedFetch: GatedFetch;
  /** Providers of models.yaml with an OpenAI-compatible API, with their addresses. */
  configured: () => readonly { name: string; baseUrl: string }[];
  /** Further ports to check; the default ports of known servers when absent. */
  ports?: readonly number[];
  /** Timeout of a port check (ms). */
  timeoutMs?: number;
}

/** Model servers on this machine (M2): searched on request, used only by the user's choice. */
export interface Servers {
  find(signal: AbortSignal): Promise<LocalServer[]>;
  /**
   * A server and model that the user chose, and whether the model supports JSON schemas.
   * @throws LancelotError `not_found` when it no longer responds or does not offer the model
   */
  choose(url: string, model: string, signal: AbortSignal): Promise<LocalServer & { name: string; contextWindow: number | null }>;
}

/** Ollama, llama-server, LM Studio, vLLM. */
const knownPorts = { 11_434: "ollama", 8_080: "llama-server", 1_234: "lm-studio", 8_000: "vllm" } as const;
const Refusal = z.object({ error: z.unknown() });

export function createServers(deps: ServersDeps): Servers {
  /** Whether a model supports JSON schemas, by address and model; tested once per host process. */
  const structured = new Map<string, boolean>();
  const { timeoutMs = 1_500 } = deps;

  async function look(origin: string, signal: AbortSignal): Promise<LocalServer | null> {
    const fetch = deps.gatedFetch([origin]);
    const url = `${origin}/v1`;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const ask = createAsk(origin, fetch, timeout);
    const provider = deps.configured().find(({ baseUrl }) => sameAddress(baseUrl, url))?.name ?? null;
    // All of them provide this list, and the request harms no other program; only then more is requested.
    const list = await ask("/v1/models", ModelList);
    if (list === null) return refused(origin, fetch, timeout, provider);
    const { kind, models } = await recognise(ask, list);
    const tried = models.map(({ model }) => structured.get(`${url} ${model}`)).filter((one) => one !== undefined);
    return {
      kind,
      displayName: displayNames[kind],
      url,
      models,
      structured: tried.length === 0 ? null : tried.every((held) => held),
      provider,
      problem:
        models.length > 0
          ? null
          : `${displayNames[kind]} lists no models. ${kind === "ollama" ? "Download one with `ollama pull`." : "Load one there."}`,
    };
  }

  /** A server known by its port and its rejection: it is still loading, or requires an API key. */
  async function refused(
    origin: string,
    fetch: typeof globalThis.fetch,
    signal: AbortSignal,
    provider: string | null,
  ): Promise<LocalServer | null> {
    const kind = Object.entries(knownPorts).find(([port]) => port === new URL(origin).port)?.[1] ?? "other";
    try {
      const response = await fetch(`${origin}/v1/models`, { signal, redirect: "error", headers: { accept: "application/json" } });
      const { error } = Refusal.parse(JSON.parse((await readText(response)) ?? ""));
      const problem =
        response.status === 401 || response.status === 403
          ? "It requires an API key: add it as a provider with api_key_name in config/models.yaml."
          : response.status === 503
            ? "It is still loading its model. Refresh in a moment."
            : null;
      if (problem === null || error === undefined) return null;
      return { kind, displayName: displayNames[kind], url: `${origin}/v1`, models: [], structured: null, provider, problem };
    } catch {
      return null;
    }
  }

  return {
    async find(signal) {
      const ports = deps.ports ?? Object.keys(knownPorts).map(Number);
      const loopback = deps.configured().flatMap(({ baseUrl }) => (isLoopback(baseUrl) ? [new URL(baseUrl).origin] : []));
      const origins = [...ports.map((port) => `http://127.0.0.1:${port}`), ...loopback];
      const apart = origins.filter((origin, index) => origins.findIndex((other) => sameAddress(other, origin)) === index);
      const found = await Promise.all(apart.map((origin) => look(origin, signal)));
      return found.filter((one) => one !== null);
    },
    async choose(url, model, signal) {
      if (!isLoopback(url))
        throw new LancelotError("invalid_params", `${url} is not on this machine. Add it to config/models.yaml manually.`);
      const { origin } = new URL(url);
      const server = await look(origin, signal);
      if (server === null) throw new LancelotError("not_found", `No model server responds at ${origin}. Start it, then refresh.`);
      const offered = server.models.find((one) => one.model === model);
      if (offered === undefined)
        throw new LancelotError(
          "not_found",
          server.problem ?? `${server.displayName} does not offer ${model}. It offers ${server.models.map((one) => one.model).join(", ")}.`,
        );
      const held = await holdsSchema(server.url, model, deps.gatedFetch([origin]), signal);
      if (held !== null) structured.set(`${server.url} ${model}`, held);
      const name = server.provider ?? freeName(server.kind, deps.configured());
      return { ...server, structured: held, name, contextWindow: offered.contextWindow };
    },
  };
}

/** A name that no other provider has. */
function freeName(kind: LocalServer["kind"], taken: readonly { name: string }[]): string {
  const base = kind === "other" ? "local-server" : kind;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!taken.some((one) => one.name === name)) return name;
  }
}

function isLoopback(address: string): boolean {
  return URL.canParse(address) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(address).hostname);
}

function sameAddress(one: string, other: string): boolean {
  const plain = (address: string) => {
    const { port, protocol, pathname, hostname } = new URL(address);
    return `${protocol}//${isLoopback(address) ? "127.0.0.1" : hostname}:${port}${trimEnd(pathname, "/")}`;
  };
  return plain(one) === plain(other);
}
