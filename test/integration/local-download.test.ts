// @module-tag local-model
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freeBytes } from "../../agent-server/models/local/disk-space.ts";
import { createFetch, download } from "../../agent-server/models/local/download.ts";
import type { Local } from "../../agent-server/models/local/types.ts";
import { hubFile } from "../../agent-server/models/local/model-files.ts";
import { openCatalog } from "../../agent-server/models/local/catalog.ts";
import { type FileServer, startFileServer } from "../support/models/file-server.ts";
import { openLocal, prepareLocalModel } from "../support/models/local-models.ts";
import { makeDataDir, offeredFile } from "../support/models/own-catalog.ts";

const missing = await prepareLocalModel();
const network = createFetch({});

/** Why no disk of its own can be had here; empty when it can. A disk that is full is also tried by a figure, in the unit tests. */
function whyNoDisk(): string {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can mount one";
  const folder = mkdtempSync(join(tmpdir(), "lancelot-mount-"));
  try {
    execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "pipe" });
    execFileSync("/bin/umount", [folder]);
    return "";
  } catch {
    return "this machine does not let root mount one";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const noDisk = whyNoDisk();
if (noDisk !== "") console.warn(`Not run, a download to a disk that is full: ${noDisk}.`);

describe.skipIf(missing !== null)("a download of the local model", () => {
  let dataDir: string;
  let server: FileServer;
  let made: ReturnType<typeof makeDataDir>;
  const opened: Local[] = [];
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    server = await startFileServer();
    dataDir = mkdtempSync(join(tmpdir(), "local-download-"));
    made = makeDataDir(dataDir, { url: `${server.url}/tiny.gguf` });
    server.files.set("/tiny.gguf", made.bytes);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await Promise.all(opened.splice(0).map((local) => local.close()));
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function window(): Local {
    const local = openLocal({ dataDir, env: {}, fetch: network.fetch, retryMs: 10 });
    opened.push(local);
    return local;
  }

  /** Another host, as a process. `lines`: what it said. */
  function otherHost(): { child: ChildProcess; lines: string[]; until(line: RegExp): Promise<void> } {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL("../support/models/download-until-killed.ts", import.meta.url)), dataDir],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    children.push(child);
    const lines: string[] = [];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => lines.push(...text.split("\n").filter((line) => line !== "")));
    return {
      child,
      lines,
      until: (line) => vi.waitFor(() => expect(lines).toContainEqual(expect.stringMatching(line)), { interval: 10 }),
    };
  }

  /** The server sends so much of each answer and then nothing more until it is let go. */
  function holdAfter(bytes: number): { letGo: () => void } {
    const held: (() => void)[] = [];
    server.fault = (request, response: ServerResponse, body) => {
      if (request.method === "HEAD") return false;
      const from = Number(/\d+/.exec(request.headers.range ?? "")?.[0] ?? 0);
      const head = { etag: `"${body.length}-${body.subarray(0, 8).toString("hex")}"`, "content-length": body.length - from };
      if (from === 0) response.writeHead(200, head);
      else response.writeHead(206, { ...head, "content-range": `bytes ${from}-${body.length - 1}/${body.length}` });
      response.write(body.subarray(from, from + bytes));
      held.push(() => response.end(body.subarray(from + bytes)));
      return true;
    };
    return {
      letGo: () => {
        server.fault = undefined;
        for (const go of held) go();
      },
    };
  }
  const part = () => statSync(`${made.model}.part`, { throwIfNoEntry: false })?.size ?? 0;
  const ranges = () => server.asked.flatMap(({ method, range }) => (method === "GET" ? [range] : []));

  it("continues where it was after its host was killed, and is whole", async () => {
    holdAfter(200_000);
    const host = otherHost();
    await vi.waitFor(() => expect(part()).toBe(200_000), { interval: 10 });
    host.child.kill("SIGKILL");
    await once(host.child, "exit");
    server.fault = undefined;

    const next = window();
    expect(next.state()).toMatchObject({ status: "absent", paused: true });
    expect(next.state().doneBytes).toBeGreaterThanOrEqual(200_000);
    expect((await next.download()).status).toBe("ready");
    expect(ranges()).toEqual([undefined, "bytes=200000-"]);
    expect(readFileSync(made.model).equals(made.bytes)).toBe(true);
    expect(readdirSync(join(dataDir, "models")).filter((name) => !name.startsWith(".verified"))).toEqual([offeredFile]);
  });

  it("pauses when it is stopped, and continues later", async () => {
    holdAfter(150_000);
    const local = window();
    const running = local.download();
    const stopped = expect(running).rejects.toMatchObject({ code: "cancelled" });
    await vi.waitFor(() => expect(part()).toBe(150_000), { interval: 10 });
    local.cancelDownload();
    await stopped;
    expect(local.state()).toMatchObject({ status: "absent", paused: true, problem: null });
    expect(local.degraded()).toBeNull();
    server.fault = undefined;
    await local.download();
    expect(ranges()).toEqual([undefined, "bytes=150000-"]);
  });

  it("is done once for two windows: the other waits, shows how far it is, and has the model", async () => {
    const hold = holdAfter(200_000);
    const first = otherHost();
    await vi.waitFor(() => expect(part()).toBe(200_000), { interval: 10 });
    const second = window();
    const waiting = second.download();
    await vi.waitFor(() => expect(second.state()).toMatchObject({ status: "downloading" }));
    await vi.waitFor(() => expect(second.state().doneBytes).toBeGreaterThanOrEqual(200_000));
    await expect(window().remove()).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("Another window") });
    hold.letGo();
    expect((await waiting).status).toBe("ready");
    await first.until(/^ended ready$/);
    expect(ranges()).toEqual([undefined]);
  });

  it("is taken over by the window that waits when the other is killed", async () => {
    holdAfter(200_000);
    const first = otherHost();
    await vi.waitFor(() => expect(part()).toBe(200_000), { interval: 10 });
    const second = window();
    const waiting = second.download();
    await vi.waitFor(() => expect(second.state().doneBytes).toBeGreaterThanOrEqual(200_000));
    server.fault = undefined;
    first.child.kill("SIGKILL");
    expect((await waiting).status).toBe("ready");
    expect(ranges()).toEqual([undefined, "bytes=200000-"]);
  });

  it("of two windows that begin at once is right, whoever is first", async () => {
    const [one, two, three] = [window(), window(), otherHost()];
    const [first, second] = await Promise.all([one.download(), two.download()]);
    await three.until(/^ended ready$/);
    expect([first.status, second.status]).toEqual(["ready", "ready"]);
    expect(ranges()).toEqual([undefined]);
    expect(readFileSync(made.model).equals(made.bytes)).toBe(true);
  });

  it("with a part that was damaged meanwhile begins again by itself", async () => {
    holdAfter(200_000);
    const local = window();
    const running = expect(local.download()).rejects.toMatchObject({ code: "cancelled" });
    await vi.waitFor(() => expect(part()).toBe(200_000), { interval: 10 });
    local.cancelDownload();
    await running;
    server.fault = undefined;
    const damaged = readFileSync(`${made.model}.part`);
    damaged[5_000] = (damaged[5_000] ?? 0) ^ 1;
    writeFileSync(`${made.model}.part`, damaged);
    expect((await local.download()).status).toBe("ready");
    expect(readFileSync(made.model).equals(made.bytes)).toBe(true);
  });

  describe.runIf(noDisk === "")("to a disk that is full", () => {
    beforeEach(() => {
      rmSync(dataDir, { recursive: true });
      mkdirSync(dataDir);
      execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=600k", "tmpfs", dataDir]);
    });
    afterEach(() => execFileSync("/bin/umount", [dataDir]));

    /** By the file alone: the whole installer would not begin with so little. */
    function fetchFile(free: () => Promise<number>): Promise<void> {
      const [hub] = openCatalog(join(dataDir, "../config"), dataDir).catalog.hub;
      if (hub === undefined) throw new Error("the catalog has no model");
      return download(hubFile(hub), join(dataDir, "models", offeredFile), {
        signal: new AbortController().signal,
        onProgress: () => undefined,
        fetch: network.fetch,
        retryMs: 1,
        free,
      });
    }

    it.each([
      ["as the system says beforehand", undefined],
      ["as the last write says", () => Promise.resolve(1e12)],
    ])("says so (%s), keeps what is here, and continues when there is room", async (_how, free) => {
      made = makeDataDir(dataDir, { url: `${server.url}/tiny.gguf`, runtime: false });
      writeFileSync(join(dataDir, "filler"), Buffer.alloc(200_000));
      const tight = free ?? (() => freeBytes(dataDir));
      await expect(fetchFile(tight)).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(/The disk is full\. Free 0\.1 GB/),
        data: { reason: "disk_full" },
      });
      const kept = part();
      if (free !== undefined) expect(kept).toBeGreaterThan(100_000);
      rmSync(join(dataDir, "filler"));
      await fetchFile(() => Promise.resolve(1e12));
      expect(readFileSync(made.model).equals(made.bytes)).toBe(true);
      if (kept > 0) expect(ranges().at(-1)).toBe(`bytes=${kept}-`);
    });

    it("is not begun by the whole installer, which says how much it needs; the host's state says the same", async () => {
      made = makeDataDir(dataDir, { url: `${server.url}/tiny.gguf` });
      const local = window();
      await expect(local.download()).rejects.toMatchObject({
        message: expect.stringContaining("0.0 GB"),
      });
      expect(local.state()).toMatchObject({ status: "failed", nextStep: expect.any(String) });
      expect(local.degraded()).toContain("free disk space");
      expect(existsSync(made.model)).toBe(false);
    });
  });
});
