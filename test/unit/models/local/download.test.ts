import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFetch, download, type RemoteFile, reachable } from "../../../../agent-server/models/local/download.ts";
import { type FileServer, startFileServer } from "../../../support/models/file-server.ts";

const body = randomBytes(400_000);
const sha256 = createHash("sha256").update(body).digest("hex");
const network = createFetch({});
let server: FileServer;
let folder: string;
let path: string;
let file: RemoteFile;

beforeEach(async () => {
  server = await startFileServer();
  server.files.set("/model.gguf", body);
  folder = mkdtempSync(join(tmpdir(), "download-"));
  path = join(folder, "models", "model.gguf");
  file = { url: `${server.url}/model.gguf`, bytes: body.length, checksum: { algorithm: "sha256", encoding: "hex", value: sha256 } };
});

afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(options: { signal?: AbortSignal; onProgress?: (bytes: number) => void; tries?: number; free?: () => Promise<number> } = {}) {
  const signal = options.signal ?? new AbortController().signal;
  return download(file, path, { onProgress: () => undefined, fetch: network.fetch, retryMs: 1, ...options, signal });
}

/** Sends the beginning of the file, then cuts the connection. */
function cutAfter(bytes: number, times: number) {
  let left = times;
  server.fault = (request, response, whole) => {
    if (left-- <= 0) return false;
    const from = Number(/\d+/.exec(request.headers.range ?? "")?.[0] ?? 0);
    const head = { etag: `"${whole.length}-${whole.subarray(0, 8).toString("hex")}"`, "content-length": whole.length - from };
    if (from === 0) response.writeHead(200, head);
    else response.writeHead(206, { ...head, "content-range": `bytes ${from}-${whole.length - 1}/${whole.length}` });
    response.write(whole.subarray(from, from + bytes), () => response.destroy());
    return true;
  };
}

it("fetches a file, reports progress and leaves nothing but the file", async () => {
  const seen: number[] = [];
  await run({ onProgress: (bytes) => seen.push(bytes) });
  expect(readFileSync(path).equals(body)).toBe(true);
  expect(seen.at(-1)).toBe(body.length);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(existsSync(`${path}.part`) || existsSync(`${path}.part.json`)).toBe(false);
});

it("continues where a cut connection stopped", async () => {
  cutAfter(150_000, 2);
  await run();
  expect(readFileSync(path).equals(body)).toBe(true);
  expect(server.asked.map(({ range }) => range)).toEqual([undefined, "bytes=150000-", "bytes=300000-"]);
});

it("keeps what is here when stopped, and continues there in a later call", async () => {
  const stop = new AbortController();
  cutAfter(150_000, Number.POSITIVE_INFINITY);
  await expect(run({ signal: stop.signal, onProgress: (bytes) => bytes >= 150_000 && stop.abort() })).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(existsSync(path)).toBe(false);
  const here = statSync(`${path}.part`).size;
  expect(here).toBeGreaterThan(0);
  server.fault = undefined;
  await run();
  expect(server.asked.at(-1)?.range).toBe(`bytes=${here}-`);
  expect(readFileSync(path).equals(body)).toBe(true);
});

it("starts again where the server knows no ranges", async () => {
  cutAfter(150_000, 1);
  server.ranges = false;
  await run();
  expect(readFileSync(path).equals(body)).toBe(true);
});

it("starts again when the file has changed on the server since", async () => {
  cutAfter(150_000, 1);
  await expect(run({ tries: 1 })).rejects.toMatchObject({ code: "unavailable" });
  const changed = randomBytes(body.length);
  server.files.set("/model.gguf", changed);
  file.checksum.value = createHash("sha256").update(changed).digest("hex");
  await run();
  expect(readFileSync(path).equals(changed)).toBe(true);
});

it("does not trust a part of unknown origin", async () => {
  await expect(run({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  writeFileSync(`${path}.part`, randomBytes(1_000));
  await run();
  expect(readFileSync(path).equals(body)).toBe(true);
});

it("finishes a file that was complete but not yet named, without asking the server", async () => {
  cutAfter(150_000, 1);
  await expect(run({ tries: 1 })).rejects.toThrow();
  writeFileSync(`${path}.part`, body);
  const before = server.asked.length;
  await run();
  expect(server.asked.length).toBe(before);
  expect(readFileSync(path).equals(body)).toBe(true);
});

it("deletes a damaged file and says so, also when the damage is in what was here", async () => {
  const damaged = Buffer.from(body);
  damaged[1_000] = (damaged[1_000] ?? 0) ^ 1;
  server.files.set("/model.gguf", damaged);
  await expect(run()).rejects.toThrow(/damaged.*deleted/);
  expect(existsSync(path) || existsSync(`${path}.part`)).toBe(false);

  server.files.set("/model.gguf", body);
  cutAfter(150_000, 1);
  await expect(run({ tries: 1 })).rejects.toThrow();
  writeFileSync(`${path}.part`, damaged.subarray(0, 150_000));
  const asked = server.asked.length;
  await run();
  // Whole from the start, without a word: the damage was here, not there.
  expect(server.asked.slice(asked).map(({ range }) => range)).toEqual(["bytes=150000-", undefined]);
  expect(readFileSync(path).equals(body)).toBe(true);
});

it("says that the file has changed there, when what follows a pause is of another one", async () => {
  cutAfter(150_000, 1);
  await expect(run({ tries: 1 })).rejects.toThrow();
  server.files.set("/model.gguf", randomBytes(body.length));
  await expect(run()).rejects.toMatchObject({
    message: expect.stringContaining("offers a different file than the catalog (checksum mismatch)"),
    data: { next: expect.stringContaining("local-models.yaml") },
  });
});

it("does not begin what the disk cannot hold, and stops before it is full", async () => {
  await expect(run({ free: () => Promise.resolve(body.length - 1) })).rejects.toMatchObject({
    message: expect.stringContaining("The disk is full"),
    data: { reason: "disk_full" },
  });
  expect(server.asked).toEqual([]);
});

it.each([500, 502, 503, 429])("tries again after HTTP %i", async (status) => {
  let left = 2;
  server.fault = (_request, response) => {
    if (left-- <= 0) return false;
    response.writeHead(status, { "retry-after": "0" }).end();
    return true;
  };
  await run();
  expect(server.asked).toHaveLength(3);
});

it.each([401, 403, 404])("gives up at once after HTTP %i", async (status) => {
  server.fault = (_request, response) => {
    response.writeHead(status).end();
    return true;
  };
  await expect(run()).rejects.toThrow(`HTTP ${status}`);
  expect(server.asked).toHaveLength(1);
});

it("gives up after the tries it has, with a message", async () => {
  server.fault = (_request, response) => {
    response.writeHead(500).end();
    return true;
  };
  await expect(run({ tries: 3 })).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("HTTP 500") });
  expect(server.asked).toHaveLength(3);
});

it("refuses a file of another size before fetching it", async () => {
  server.files.set("/model.gguf", body.subarray(1));
  await expect(run()).rejects.toThrow(/different file/);
  expect(existsSync(`${path}.part`)).toBe(false);
});

it("stops a server that sends more than it said", async () => {
  server.fault = (_request, response, whole) => {
    response.writeHead(200);
    response.end(Buffer.concat([whole, whole]));
    return true;
  };
  await expect(run()).rejects.toThrow(/sent more/);
  expect(statSync(`${path}.part`).size).toBe(0);
});

it("says whether a host offers a file", async () => {
  const { signal } = new AbortController();
  expect(await reachable(file, network.fetch, signal)).toBe(true);
  expect(await reachable({ ...file, url: `${server.url}/other` }, network.fetch, signal)).toBe(false);
  expect(await reachable({ ...file, url: "https://models.invalid/x.gguf" }, network.fetch, signal)).toBe(false);
  server.fault = (_request, response) => {
    response.writeHead(302, { location: "https://storage.invalid/x" }).end();
    return true;
  };
  expect(await reachable(file, network.fetch, signal)).toBe(true);
  server.fault = () => true;
  expect(await reachable(file, network.fetch, signal, 50)).toBe(false);
});

it.each([
  [sha256, true],
  ["0".repeat(64), false],
])("believes a hub that names the checksum of its file before it is fetched: %s", async (named, same) => {
  server.fault = (_request, response) => {
    response.writeHead(302, { location: "https://storage.invalid/x", "x-linked-etag": `"${named}"` }).end();
    return true;
  };
  const asked = reachable(file, network.fetch, new AbortController().signal);
  if (same) expect(await asked).toBe(true);
  else await expect(asked).rejects.toThrow(/offers a different file than the catalog/);
});
