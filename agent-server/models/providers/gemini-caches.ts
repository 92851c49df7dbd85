import { createHash } from "node:crypto";
import type { Usage } from "../../contract/chat.ts";
import type { Connection } from "./types.ts";
import { statusOf } from "./error-mapping.ts";
import type { GeminiRequest } from "./gemini-request.ts";
import { askJson } from "./rest.ts";
import type { ServerMemory } from "./types.ts";

/**
 * Explicit caches of Gemini (cachedContents): tools and system prompt of a task, kept by the server, paid by the hour. The server
 * also caches by itself what begins alike, for nothing; so one is made only after it was seen that it does not. Caches are found
 * again by the hash of what they hold, kept alive while they are used, and deleted when the last task that used them has ended.
 */
export interface GeminiCaches {
  /** The cache to send a request with; null: send it whole. */
  use(connection: Connection, request: GeminiRequest, cacheKey: string | undefined): UsedCache | null;
  /** Told of every answer: what it cost says whether the server caches by itself. Makes a cache, behind the answer, where it pays. */
  answered(connection: Connection, request: GeminiRequest, cacheKey: string | undefined, usage: Usage): void;
  /** The server does not know it any more. */
  forget(name: string): void;
  /** A task has ended. */
  release(cacheKey: string): Promise<void>;
  /** Resolves when nothing is being made or kept alive. */
  settled(): Promise<void>;
  /** Deletes all. */
  close(): Promise<void>;
}

export interface UsedCache {
  name: string;
  /** Tokens that making it took, told once: they are paid as input. */
  writtenTokens: number;
}

interface Entry {
  holders: Set<string>;
  requests: number;
  /** The server reads this beginning from a cache of its own. */
  byItself: boolean;
  making: boolean;
  refused: boolean;
  cache: { name: string; expiresAt: number; untold: number; connection: Connection } | null;
}

const ttlSeconds = 600;
/** What is about to end is not used. */
const marginMs = 15_000;
const patienceMs = 10_000;
const lettersPerToken = 4;

/** The caches of all Gemini servers, kept in the memory of servers. */
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
    // Fewer tokens are refused (4096 of Pro models, 1024 of others).
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
        askJson(connection.fetch, {
          url: `${apiRoot(connection)}/cachedContents`,
          headers: keyHeader(connection),
          body: { model: `models/${request.model}`, ...request.prefix, ttl: `${ttlSeconds}s` },
          signal: AbortSignal.timeout(patienceMs),
        }),
      );
      const tokens: unknown = Reflect.get(Object(made["usageMetadata"]), "totalTokenCount");
      const { name } = made;
      if (typeof name !== "string") return;
      const untold = typeof tokens === "number" ? tokens : 0;
      entry.cache = { name, expiresAt: now() + ttlSeconds * 1000, untold, connection };
      // Its last task ended while it was being made.
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
    await askJson(cache.connection.fetch, {
      url: `${apiRoot(cache.connection)}/${cache.name}?updateMask=ttl`,
      headers: keyHeader(cache.connection),
      method: "PATCH",
      body: { ttl: `${ttlSeconds}s` },
      signal: AbortSignal.timeout(patienceMs),
    });
  }

  async function remove(entry: Entry): Promise<void> {
    const { cache } = entry;
    entry.cache = null;
    if (cache === null || cache.expiresAt < now()) return;
    const { connection, name } = cache;
    await memory.record("delete", { provider: connection.displayName, name }, () =>
      askJson(connection.fetch, {
        url: `${apiRoot(connection)}/${name}`,
        headers: keyHeader(connection),
        method: "DELETE",
        signal: AbortSignal.timeout(patienceMs),
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
      // The first cannot have been read from anywhere; the second tells.
      if (usage.cachedInputTokens > 0) entry.byItself = true;
      if (entry.requests >= 2 && !entry.byItself && !entry.making && !entry.refused) behind(make(connection, request, entry));
    },
    forget(name) {
      for (const entry of entries.values()) if (entry.cache?.name === name) entry.cache = null;
    },
    async release(cacheKey) {
      const left = [...entries].filter(([, { holders }]) => holders.delete(cacheKey) && holders.size === 0);
      for (const [hash, entry] of left) if (!entry.making) entries.delete(hash);
      // One that cannot be deleted ends by itself within minutes.
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

/** The version of the API that stands in the address, if any. */
export function versionOf(connection: Connection): string | undefined {
  return versionInPath.exec(connection.baseUrl)?.[1];
}

/** The address without a version. */
export function hostRoot(connection: Connection): string {
  return connection.baseUrl.replace(versionInPath, "").replace(/\/+$/, "");
}

export function apiRoot(connection: Connection): string {
  return `${hostRoot(connection)}/${versionOf(connection) ?? "v1beta"}`;
}

export function keyHeader(connection: Connection): Record<string, string> {
  return connection.key === null ? {} : { "x-goog-api-key": connection.key };
}
