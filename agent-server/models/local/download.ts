import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { diskError, diskFull, freeBytes } from "./disk-space.ts";

/** A file whose size and checksum are known in advance. */
export interface RemoteFile {
  url: string;
  bytes: number;
  checksum: { algorithm: "sha256" | "sha512"; encoding: "hex" | "base64"; value: string };
}

export interface DownloadOptions {
  signal: AbortSignal;
  /** Bytes received so far, including earlier attempts. */
  onProgress: (bytes: number) => void;
  fetch: Fetch;
  /** Attempts in a row without progress before giving up. */
  tries?: number;
  /** Delay before the second attempt; doubles with each (ms). */
  retryMs?: number;
  /** Free bytes on the disk of a folder; the system's figure by default. */
  free?: (folder: string) => Promise<number>;
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

/** Fetches through the environment's proxy, with a connection timeout of seconds. */
export function createFetch(env: Readonly<Record<string, string | undefined>>): { fetch: Fetch; close(): Promise<void> } {
  const named = (name: string) => env[name] ?? env[name.toUpperCase()] ?? "";
  const load = async () => {
    const { EnvHttpProxyAgent, fetch } = await import("./http-client.ts");
    const agent = new EnvHttpProxyAgent({
      httpProxy: named("http_proxy"),
      httpsProxy: named("https_proxy"),
      noProxy: named("no_proxy"),
      connect: { timeout: 5_000 },
      headersTimeout: 30_000,
      bodyTimeout: 60_000,
    });
    return { fetch, agent };
  };
  /** Created by the first request. */
  let loading: ReturnType<typeof load> | undefined;
  return {
    fetch: async (url, init) => {
      const { fetch, agent } = await (loading ??= load());
      const response = await fetch(url, { ...init, dispatcher: agent });
      return { status: response.status, headers: response.headers, body: response.body };
    },
    close: async () => (await loading)?.agent.destroy(),
  };
}

/**
 * Whether a host offers the file, within `timeoutMs`. Any answer but success counts as unreachable. A redirect is success, since storage
 * behind a hub often signs its addresses for GET only.
 * @throws LancelotError `unavailable` when the hub's metadata names a different file
 */
export async function reachable(
  file: Pick<RemoteFile, "url" | "bytes" | "checksum">,
  fetch: Fetch,
  signal: AbortSignal,
  timeoutMs = 5_000,
): Promise<boolean> {
  let headers: FetchResponse["headers"];
  try {
    const response = await fetch(file.url, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (response.status < 200 || response.status >= 400) return false;
    ({ headers } = response);
  } catch {
    signal.throwIfAborted();
    return false;
  }
  // Hubs with separate storage for large files send the checksum here.
  const sha256 = /^(?:W\/)?"([0-9a-f]{64})"$/.exec(headers.get("x-linked-etag") ?? "")?.[1];
  if (sha256 !== undefined && file.checksum.algorithm === "sha256" && sha256 !== file.checksum.value) throw changed(file.url);
  return true;
}

const Note = z.object({ url: z.string(), bytes: z.int(), etag: z.string().nullable() });

/**
 * Downloads a file to `path`. An interrupted download stays in `<path>.part`, and the next call resumes it. The checksum covers every byte,
 * including those of earlier calls, before the file gets its name.
 * @throws LancelotError `cancelled`, or `unavailable` with a message for the user
 */
export async function download(file: RemoteFile, path: string, options: DownloadOptions): Promise<void> {
  const part = `${path}.part`;
  const noteFile = `${part}.json`;
  await mkdir(dirname(path), { recursive: true });
  const tries = options.tries ?? 5;
  let failures = 0;
  let begunAnew = false;
  for (;;) {
    const before = await sizeOf(part);
    try {
      await attempt(file, part, noteFile, options);
      break;
    } catch (error) {
      if (options.signal.aborted) throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.");
      // The damage may be in the resumed part: a complete download may succeed.
      if (error instanceof Damaged && error.resumed && !begunAnew) {
        begunAnew = true;
        continue;
      }
      if (error instanceof Damaged) throw error.formatDuration(file.url);
      if (error instanceof LancelotError) throw error;
      const ofDisk = diskError(error, file.bytes - (await sizeOf(part)));
      if (ofDisk !== undefined) throw ofDisk;
      failures = (await sizeOf(part)) > before ? 1 : failures + 1;
      if (failures >= tries) {
        throw new LancelotError(
          "unavailable",
          `${hostOf(file.url)} could not be reached, or the connection failed (${reasonOf(error)}). Try again later.`,
          {
            cause: error,
          },
        );
      }
      const wait = error instanceof Status ? error.retryAfterMs : undefined;
      await delay(Math.min(wait ?? (options.retryMs ?? 1_000) * 2 ** (failures - 1), 60_000), undefined, { signal: options.signal }).catch(
        () => {
          throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.");
        },
      );
    }
  }
  await rename(part, path);
  await rm(noteFile, { force: true });
}

/** One request, from the resumed part to the verified file. */
async function attempt(file: RemoteFile, part: string, noteFile: string, options: DownloadOptions): Promise<void> {
  const { signal, onProgress, fetch, free = freeBytes } = options;
  const folder = dirname(part);
  const note = await readNote(noteFile);
  let have = await sizeOf(part);
  let isAnother = false;
  if (have > file.bytes || (have > 0 && (note?.url !== file.url || note.bytes !== file.bytes))) {
    await rm(part, { force: true });
    have = 0;
  }
  let hash = createHash(file.checksum.algorithm);
  if (have > 0) for await (const chunk of createReadStream(part, { signal })) hash.update(z.instanceof(Uint8Array).parse(chunk));
  let resumed = have > 0;
  onProgress(have);

  if (have < file.bytes) {
    if ((await free(folder)) < file.bytes - have) throw diskFull(file.bytes - have);
    const headers: Record<string, string> = { "accept-encoding": "identity" };
    if (have > 0) {
      headers["range"] = `bytes=${have}-`;
      if (note?.etag) headers["if-range"] = note.etag;
    }
    const response = await fetch(file.url, { headers, signal });
    if (response.status === 206 && !response.headers.get("content-range")?.startsWith(`bytes ${have}-`)) {
      await discard(response);
      throw new Status("the server sent a different range than requested", undefined);
    }
    if (response.status !== 200 && response.status !== 206) {
      await discard(response);
      if (response.status === 416) await rm(part, { force: true });
      throw statusError(file, response);
    }
    const total = totalOf(response);
    if (total !== null && total !== file.bytes) {
      await discard(response);
      throw changed(file.url, `${total} bytes, not ${file.bytes}`);
    }
    if (response.status === 200 && have > 0) {
      // The server does not support ranges, or the file has changed: start over.
      isAnother = typeof note?.etag === "string" && response.headers.get("etag") !== note.etag;
      hash = createHash(file.checksum.algorithm);
      have = 0;
      resumed = false;
    }
    const weak = response.headers.get("etag");
    await keepNote(noteFile, note, { url: file.url, bytes: file.bytes, etag: weak?.startsWith('"') ? weak : null });
    let looked = have;
    const handle = await open(part, have > 0 ? "a" : "w");
    try {
      for await (const chunk of response.body ?? []) {
        signal.throwIfAborted();
        if (have + chunk.byteLength > file.bytes) {
          await handle.truncate(0);
          throw new LancelotError("unavailable", `${hostOf(file.url)} sent more data than the catalog allows. The file was deleted.`);
        }
        await handle.writeFile(chunk);
        hash.update(chunk);
        have += chunk.byteLength;
        onProgress(have);
        if (have - looked < lookBytes) continue;
        // A full disk would harm more than this download.
        looked = have;
        if ((await free(folder)) < Math.min(lookBytes, file.bytes - have)) throw diskFull(file.bytes - have);
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
    throw new Damaged(resumed, isAnother);
  }
}

/** Bytes between two checks of the free disk space. */
const lookBytes = 32_000_000;

/** The received data does not match its checksum. */
class Damaged extends Error {
  readonly resumed: boolean;
  readonly isAnother: boolean;
  constructor(resumed: boolean, isAnother: boolean) {
    super("the checksum differs");
    this.resumed = resumed;
    this.isAnother = isAnother;
  }
  formatDuration(url: string): LancelotError {
    if (this.isAnother) return changed(url);
    const next = "Try again.";
    return new LancelotError("unavailable", `The file from ${hostOf(url)} is damaged (checksum mismatch) and was deleted. ${next}`, {
      data: { next },
      cause: this,
    });
  }
}

function changed(url: string, how = "checksum mismatch"): LancelotError {
  const next =
    "Update Lancelot, correct your own config/local-models.yaml, or set local.model in config/models.yaml to a file of your own.";
  return new LancelotError("unavailable", `${hostOf(url)} offers a different file than the catalog (${how}). ${next}`, {
    data: { next },
  });
}

/** A response that may succeed on the next attempt. */
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

/** Cancels an unused response, so that its connection is released. */
async function discard(response: FetchResponse): Promise<void> {
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.return?.(undefined);
}

async function readNote(path: string): Promise<z.infer<typeof Note> | null> {
  try {
    return Note.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    // Missing or truncated by a kill: the part is of unknown origin and is downloaded again.
    return null;
  }
}

/** Written atomically: without it, the partial file is useless. */
async function keepNote(path: string, before: z.infer<typeof Note> | null, now: z.infer<typeof Note>): Promise<void> {
  if (JSON.stringify(before) === JSON.stringify(now)) return;
  await writeFile(`${path}.new`, JSON.stringify(now));
  await rename(`${path}.new`, path);
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
