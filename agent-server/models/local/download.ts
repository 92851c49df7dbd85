import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";

/** A file whose size and checksum are known before the first byte arrives. */
export interface RemoteFile {
  url: string;
  bytes: number;
  checksum: { algorithm: "sha256" | "sha512"; encoding: "hex" | "base64"; value: string };
}

export interface DownloadOptions {
  signal: AbortSignal;
  /** Bytes of the file that are here now, those of earlier tries included. */
  onProgress: (bytes: number) => void;
  fetch: Fetch;
  /** Tries in a row that bring nothing new before giving up. */
  tries?: number;
  /** Wait before the second try; doubles with each. Milliseconds. */
  retryMs?: number;
}

export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;
interface FetchInit {
  method?: "HEAD";
  redirect?: "manual";
  headers?: Record<string, string>;
  signal: AbortSignal;
}
interface FetchResponse {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array> | null;
}

/** Fetch through the proxy that the environment names, giving up on a host that does not answer within seconds. */
export function createFetch(env: Readonly<Record<string, string | undefined>>): { fetch: Fetch; close(): Promise<void> } {
  const named = (name: string) => env[name] ?? env[name.toUpperCase()] ?? "";
  const agent = new EnvHttpProxyAgent({
    httpProxy: named("http_proxy"),
    httpsProxy: named("https_proxy"),
    noProxy: named("no_proxy"),
    connect: { timeout: 5_000 },
    headersTimeout: 30_000,
    bodyTimeout: 60_000,
  });
  return {
    fetch: async (url, init) => {
      const response = await undiciFetch(url, { ...init, dispatcher: agent });
      return { status: response.status, headers: response.headers, body: response.body };
    },
    close: () => agent.destroy(),
  };
}

/**
 * Whether a host offers the file, asked within `timeoutMs`. Any answer but success counts as out of reach. Being sent on is success:
 * storage behind a hub often signs its addresses for GET alone.
 */
export async function reachable(url: string, fetch: Fetch, signal: AbortSignal, timeoutMs = 5_000): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    return response.status >= 200 && response.status < 400;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

const Note = z.object({ url: z.string(), bytes: z.int(), etag: z.string().nullable() });

/**
 * Fetches a file to `path`. What arrived stays in `<path>.part` when the download is cut short, also by the end of the process, and
 * the next call goes on there. The checksum is taken over every byte, those of earlier calls included, before the file gets its name.
 * @throws LancelotError `cancelled`, or `unavailable` worded for the owner.
 */
export async function download(file: RemoteFile, path: string, options: DownloadOptions): Promise<void> {
  const part = `${path}.part`;
  const noteFile = `${part}.json`;
  await mkdir(dirname(path), { recursive: true });
  const tries = options.tries ?? 5;
  let failures = 0;
  for (;;) {
    const before = await sizeOf(part);
    try {
      await attempt(file, part, noteFile, options);
      break;
    } catch (error) {
      if (options.signal.aborted) throw new LancelotError("cancelled", "The download was stopped. What is here is kept for the next try.");
      if (error instanceof LancelotError) throw error;
      failures = (await sizeOf(part)) > before ? 1 : failures + 1;
      if (failures >= tries) {
        throw new LancelotError(
          "unavailable",
          `${hostOf(file.url)} could not be reached or broke off (${reasonOf(error)}). Try again later.`,
          {
            cause: error,
          },
        );
      }
      const wait = error instanceof Status ? error.retryAfterMs : undefined;
      await delay(Math.min(wait ?? (options.retryMs ?? 1_000) * 2 ** (failures - 1), 60_000), undefined, { signal: options.signal }).catch(
        () => {
          throw new LancelotError("cancelled", "The download was stopped. What is here is kept for the next try.");
        },
      );
    }
  }
  await rename(part, path);
  await rm(noteFile, { force: true });
}

/** One request, from what is here to the verified end. */
async function attempt(file: RemoteFile, part: string, noteFile: string, { signal, onProgress, fetch }: DownloadOptions): Promise<void> {
  const note = await readNote(noteFile);
  let have = await sizeOf(part);
  if (have > file.bytes || (have > 0 && (note?.url !== file.url || note.bytes !== file.bytes))) {
    await rm(part, { force: true });
    have = 0;
  }
  let hash = createHash(file.checksum.algorithm);
  if (have > 0) for await (const chunk of createReadStream(part, { signal })) hash.update(z.instanceof(Uint8Array).parse(chunk));
  onProgress(have);

  if (have < file.bytes) {
    const headers: Record<string, string> = { "accept-encoding": "identity" };
    if (have > 0) {
      headers["range"] = `bytes=${have}-`;
      if (note?.etag) headers["if-range"] = note.etag;
    }
    const response = await fetch(file.url, { headers, signal });
    if (response.status === 206 && !response.headers.get("content-range")?.startsWith(`bytes ${have}-`)) {
      await discard(response);
      throw new Status("the server sent another range than asked", undefined);
    }
    if (response.status !== 200 && response.status !== 206) {
      await discard(response);
      if (response.status === 416) await rm(part, { force: true });
      throw statusError(file, response);
    }
    const total = totalOf(response);
    if (total !== null && total !== file.bytes) {
      await discard(response);
      throw new LancelotError(
        "unavailable",
        `${hostOf(file.url)} offers another file than the catalog names (${total} bytes, not ${file.bytes}).`,
      );
    }
    if (response.status === 200 && have > 0) {
      // No ranges there, or the file has changed: from the start.
      hash = createHash(file.checksum.algorithm);
      have = 0;
    }
    const weak = response.headers.get("etag");
    await writeFile(noteFile, JSON.stringify({ url: file.url, bytes: file.bytes, etag: weak?.startsWith('"') ? weak : null }));
    const handle = await open(part, have > 0 ? "a" : "w");
    try {
      for await (const chunk of response.body ?? []) {
        signal.throwIfAborted();
        if (have + chunk.byteLength > file.bytes) {
          await handle.truncate(0);
          throw new LancelotError("unavailable", `${hostOf(file.url)} sent more than the catalog names. Nothing of it was kept.`);
        }
        await handle.writeFile(chunk);
        hash.update(chunk);
        have += chunk.byteLength;
        onProgress(have);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (have < file.bytes) throw new Error("the connection closed early");
  }

  if (hash.digest(file.checksum.encoding) !== file.checksum.value) {
    await rm(part, { force: true });
    await rm(noteFile, { force: true });
    throw new LancelotError(
      "unavailable",
      `The file from ${hostOf(file.url)} is damaged (its checksum differs) and was deleted. Try again.`,
    );
  }
}

/** Free bytes for the owner on the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** An answer that may be better on the next try. */
class Status extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs: number | undefined) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

function statusError(file: RemoteFile, response: FetchResponse): Error {
  const retryable = response.status >= 500 || response.status === 429 || response.status === 408 || response.status === 416;
  if (!retryable) return new LancelotError("unavailable", `${hostOf(file.url)} refused the download (HTTP ${response.status}).`);
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new Status(`HTTP ${response.status}`, Number.isFinite(seconds) ? seconds * 1_000 : undefined);
}

function totalOf(response: FetchResponse): number | null {
  const text = response.status === 206 ? response.headers.get("content-range")?.split("/")[1] : response.headers.get("content-length");
  const total = Number(text ?? Number.NaN);
  return Number.isInteger(total) ? total : null;
}

/** Ends a response nobody reads, so that its connection is not held. */
async function discard(response: FetchResponse): Promise<void> {
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.return?.(undefined);
}

async function readNote(path: string): Promise<z.infer<typeof Note> | null> {
  try {
    return Note.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    // Absent or cut off by a kill: the part is then of unknown origin and is fetched anew.
    return null;
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

function hostOf(url: string): string {
  return new URL(url).host;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return "unknown";
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
