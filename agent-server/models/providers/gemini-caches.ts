import { trimEnd } from "../../contract/trim-end.ts";
import { createHash } from "node:crypto";
import type { Usage } from "../../contract/chat.ts";
import { boundedFetch } from "./connection.ts";
import type { Connection } from "./types.ts";
import { statusOf } from "./error-mapping.ts";
import type { GeminiRequest } from "./gemini-request.ts";
import { askJson } from "./rest.ts";
import type { ServerMemory } from "./types.ts";

/**
 * Explicit caches of Gemini (cachedContents): a task's tools and system prompt, stored by the server and paid by the hour. The server also
 * caches common prefixes implicitly, for free; so a cache is created only when it does not. Caches are identified by the hash of their
 * content, kept alive while they are used, and deleted when the last task that used them has ended.
 */
export interface GeminiCaches {
  /** The cache for a request; null: send it whole. */
  use(connection: Connection, request: GeminiRequest, cacheKey: string | undefined): UsedCache | null;
  /** Called with the usage of every answer, which shows whether the server caches implicitly. Creates a cache afterward, where it pays off. */
  answered(connection: Connection, request: GeminiRequest, cacheKey: string | undefined, usage: Usage): void;
  /** The server no longer has it. */
  forget(name: string): void;
  /** A task has ended. */
  release(cacheKey: string): Promise<void>;
  /** Resolves when no creation or renewal is in progress. */
  settled(): Promise<void>;
  /** Deletes all caches. */
  close(): Promise<void>;
}

export interface UsedCache {
  name: string;
  /** Tokens of its creation, reported once: they are billed as input. */
  writtenTokens: number;
}

interface Entry {
  holders: Set<string>;
  requests: number;
  /** The server caches this prefix implicitly. */
  byItself: boolean;
  making: boolean;
  refused: boolean;
  cache: { name: string; expiresAt: number; untold: number; connection: Connection } | null;
}

const ttlSeconds = 600;
/** A cache that is about to expire is not used. */
const marginMs = 15_000;
const timeoutMs = 10_000;
const lettersPerToken = 4;

/** The caches of all Gemini servers, part of the server memory. */
export function geminiCaches(memory: ServerMemory): GeminiCaches {
  const known = memory.caches.get("gemini") as GeminiCaches | undefined;
  const caches = known ?? createGeminiCaches(memory);
  memory.caches.set("gemini", caches);
  return caches;
}

export function createGeminiCaches(memory: Pick<ServerMemory, "record">, now: () => number = Date.now): GeminiCaches {
  const entries = new Map<string, Entry>();
  const working = new Set<Promise<void>>();
  const behind = (work: Promise<void>): void => {
    const settled = work.catch(() => undefined).finally(() => working.delete(settled));
    working.add(settled);
  };
  const isAlive = (entry: Entry): boolean => entry.cache !== null && entry.cache.expiresAt - marginMs > now();

  const entryFor = (connection: Connection, request: GeminiRequest, cacheKey: string | undefined): Entry | null => {
    if (cacheKey === undefined) return null;
    const held = JSON.stringify([connection.baseUrl, connection.key, request.model, request.prefix]);
    // Shorter prefixes are rejected (4096 tokens for Pro models, 1024 for others).
    if (JSON.stringify(request.prefix).length < (request.model.includes("pro") ? 4096 : 1024) * lettersPerToken) return null;
    const hash = createHash("sha256").update(held).digest("hex");
    const entry = entries.get(hash) ?? { holders: new Set(), requests: 0, byItself: false, making: false, refused: false, cache: null };
    entries.set(hash, entry);
    entry.holders.add(cacheKey);
    return entry;
  };

  async function make(connection: Connection, request: GeminiRequest, entry: Entry): Promise<void> {
    entry.making = true;
    try {
      const made = await memory.record("create", { provider: connection.displayName, model: request.model }, () =>
        askJson(boundedFetch(connection.fetch), {
          url: `${apiRoot(connection)}/cachedContents`,
          headers: keyHeader(connection),
          body: { model: `models/${request.model}`, ...request.prefix, ttl: `${ttlSeconds}s` },
          signal: AbortSignal.timeout(timeoutMs),
        }),
      );
      const tokens: unknown = Reflect.get(Object(made["usageMetadata"]), "totalTokenCount");
      const { name } = made;
      if (typeof name !== "string") return;
      const untold = typeof tokens === "number" ? tokens : 0;
      entry.cache = { name, expiresAt: now() + ttlSeconds * 1000, untold, connection };
      // Its last task ended during the creation.
      if (entry.holders.size === 0) await remove(entry);
    } catch (cause) {
      const status = statusOf(cause);
      entry.refused = status !== undefined && status < 500 && status !== 429;
    } finally {
      entry.making = false;
    }
  }

  async function keepAlive(entry: Entry): Promise<void> {
    const { cache } = entry;
    if (cache === null) return;
    cache.expiresAt = now() + ttlSeconds * 1000;
    await askJson(boundedFetch(cache.connection.fetch), {
      url: `${apiRoot(cache.connection)}/${cache.name}?updateMask=ttl`,
      headers: keyHeader(cache.connection),
      method: "PATCH",
      body: { ttl: `${ttlSeconds}s` },
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  async function remove(entry: Entry): Promise<void> {
    const { cache } = entry;
    entry.cache = null;
    if (cache === null || cache.expiresAt < now()) return;
    const { connection, name } = cache;
    await memory.record("delete", { provider: connection.displayName, name }, () =>
      askJson(boundedFetch(connection.fetch), {
        url: `${apiRoot(connection)}/${name}`,
        headers: keyHeader(connection),
        method: "DELETE",
        signal: AbortSignal.timeout(timeoutMs),
      }),
    );
  }

  return {
    use(connection, request, cacheKey) {
      const entry = entryFor(connection, request, cacheKey);
      if (entry === null || entry.cache === null) return null;
      if (!isAlive(entry)) {
        entry.cache = null;
        return null;
      }
      const { name, untold, expiresAt } = entry.cache;
      entry.cache.untold = 0;
      if (expiresAt - now() < (ttlSeconds * 1000) / 2) behind(keepAlive(entry));
      return { name, writtenTokens: untold };
    },
    answered(connection, request, cacheKey, usage) {
      const entry = entryFor(connection, request, cacheKey);
      if (entry === null || entry.cache !== null) return;
      entry.requests++;
      // The first request cannot hit a cache; the second shows it.
      if (usage.cachedInputTokens > 0) entry.byItself = true;
      if (entry.requests >= 2 && !entry.byItself && !entry.making && !entry.refused) behind(make(connection, request, entry));
    },
    forget(name) {
      for (const entry of entries.values()) if (entry.cache?.name === name) entry.cache = null;
    },
    async release(cacheKey) {
      const left = [...entries].filter(([, { holders }]) => holders.delete(cacheKey) && holders.size === 0);
      for (const [hash, entry] of left) if (!entry.making) entries.delete(hash);
      // A cache that cannot be deleted expires within minutes.
      await Promise.allSettled(left.map(([, entry]) => remove(entry)));
    },
    async settled() {
      await Promise.all(working);
    },
    async close() {
      for (const entry of entries.values()) entry.holders.clear();
      await Promise.all(working);
      await Promise.allSettled([...entries.values()].map((entry) => remove(entry)));
      entries.clear();
    },
  };
}

const versionInPath = /\/(v1(?:beta|alpha)?)\/?$/;

/** The API version in the address, if any. */
export function versionOf(connection: Connection): string | undefined {
  return versionInPath.exec(connection.baseUrl)?.[1];
}

/** The address without a version. */
export function hostRoot(connection: Connection): string {
  return trimEnd(connection.baseUrl.replace(versionInPath, ""), "/");
}

export function apiRoot(connection: Connection): string {
  return `${hostRoot(connection)}/${versionOf(connection) ?? "v1beta"}`;
}

export function keyHeader(connection: Connection): Record<string, string> {
  return connection.key === null ? {} : { "x-goog-api-key": connection.key };
}
