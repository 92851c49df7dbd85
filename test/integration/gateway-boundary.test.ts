import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { runCli, startServe, temporaryFolder, until } from "../support/host/built-host.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const owner = "owner-token-of-this-test-0123456789abcdef";

describe("the gateway at its boundary", () => {
  const base = temporaryFolder("boundary");
  const workspace = join(base.path, "work");
  const data = join(base.path, "data");
  const outside = join(realpathSync(base.path), "somewhere-private");
  let server: Awaited<ReturnType<typeof startServe>>;
  let denying: Promise<void> = Promise.resolve();
  const done = new AbortController();

  /** Denies what waits for the owner, so that each call ends with an answer. */
  async function denyAll(): Promise<void> {
    while (!done.signal.aborted) {
      const { text } = await rpc("approvals.list", { status: "pending" });
      const { items } = JSON.parse(text) as { items: { id: string }[] };
      for (const { id } of items) await rpc("approvals.decide", { id, decision: "deny" });
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  beforeAll(async () => {
    for (const path of [workspace, data, outside]) mkdirSync(path);
    writeFileSync(join(outside, "note.txt"), "private\n");
    symlinkSync(join(outside, "note.txt"), join(workspace, "link.txt"));
    symlinkSync(outside, join(workspace, "folder"));
    symlinkSync(join(outside, "missing"), join(workspace, "broken"));
    server = await startServe({ workspace, data, env: { LANCELOT_OWNER_TOKEN: owner, LANCELOT_RATE_LIMIT: "1000000/60" } });
    denying = denyAll();
  });
  afterAll(async () => {
    done.abort();
    await denying;
    await server.stop();
    base[Symbol.dispose]();
  });

  const rpc = async (method: string, params: unknown, token = owner): Promise<{ text: string; code: string | undefined }> => {
    const answer = await fetch(`${server.url}/rpc/${method}`, {
      method: "POST",
      body: JSON.stringify(params),
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    });
    const text = await answer.text();
    return { text, code: (JSON.parse(text) as { error?: { code: string } }).error?.code };
  };

  const links = ["link.txt", "folder", "folder/note.txt", "broken", "folder/none.txt"];
  const calls: readonly (readonly [string, (path: string) => unknown])[] = [
    ["workspace.outline", (path) => ({ path })],
    ["repl.run", (path) => ({ command: `cat ${path}` })],
    ["repl.run", (path) => ({ command: `ls ${path}` })],
    ["repl.run", (path) => ({ command: `cp ${path} copy.txt` })],
    ["repl.run", (path) => ({ command: `grep x ${path}` })],
    ["memory.import", (path) => ({ path: join(workspace, path) })],
    ["policy.explain", (path) => ({ command: "ls", cwd: path })],
    ...Object.entries({
      read_file: {},
      list_files: {},
      get_file_outline: {},
      delete_file: {},
      write_file: { content: "x" },
      edit_file: { old_text: "private", new_text: "y" },
      search_workspace: { query: "private" },
    }).map(([tool, args]) => ["tools.invoke", (path: string) => ({ tool, args: { path, ...args } })] as const),
  ];
  it.each(calls.map(([method, params], index) => [index, method, params] as const))(
    "errors do not tell where a link leads: %i %s",
    async (_index, method, params) => {
      for (const link of links) {
        const { text, code } = await rpc(method, params(link));
        if (code !== undefined) expect(text, link).not.toContain("somewhere-private");
      }
    },
  );

  it("says where a link leads nowhere in context.add, and what to do without a task", async () => {
    const { text } = await rpc("chat.send", { text: "Hi." });
    const { questId } = JSON.parse(text) as { questId: string };
    for (const path of links) {
      const refused = await rpc("context.add", { questId, path });
      expect(refused.code, path).toBe("invalid_params");
      expect(refused.text).not.toContain("somewhere-private");
    }
    const without = await rpc("context.add", { path: "link.txt" });
    expect(without).toMatchObject({ code: "invalid_params", text: expect.stringMatching(/quests\.list.*chat\.send/) as string });
  });

  it("names the transport of a refused call in the audit log", async () => {
    await rpc("flags.set", {}, server.token);
    await fetch(`${server.url}/system/status`);
    const refused = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    refused.on("error", () => undefined);
    await new Promise((resolve) => refused.once("unexpected-response", resolve));
    await runCli(["call", "flags.set", "{}", "--data", data]);
    const { text } = await rpc("receipts.search", { query: "security.unauthorized", limit: 50 });
    const ways = (JSON.parse(text) as { items: { inputs: { title: string; way: string } }[] }).items.map(({ inputs }) => [
      inputs.title,
      inputs.way,
    ]);
    for (const expected of [
      ["flags.set", "http"],
      ["/system/status", "http"],
      ["/ws", "websocket"],
      ["flags.set", "terminal"],
    ])
      expect(ways).toContainEqual(expected);
  });
});

/** Why no disk of its own can be had here; empty when it can. */
function whyNoDisk(): string {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can mount one";
  const folder = mkdtempSync(join(tmpdir(), "lancelot-mount-"));
  const mounted = spawnSync("/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status === 0;
  if (mounted) execFileSync("/bin/umount", [folder]);
  rmSync(folder, { recursive: true, force: true });
  return mounted ? "" : "this machine does not let root mount one";
}
const reason = whyNoDisk();
if (reason !== "") console.warn(`Not run, readiness on a full disk: ${reason}.`);

it.runIf(reason === "")("is not ready while the disk of the data folder is full", async () => {
  using base = temporaryFolder("full");
  const data = join(base.path, "data");
  const workspace = join(base.path, "work");
  for (const path of [data, workspace]) mkdirSync(path);
  execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", data]);
  const model = await startModelServer({ script: () => ({ text: "Hi." }) });
  useModelServer(data, model.url("openai_compatible"));
  const server = await startServe({ workspace, data });
  const ready = async (): Promise<boolean> => ((await (await fetch(`${server.url}/health/ready`)).json()) as { ready: boolean }).ready;
  try {
    await until("ready", ready);
    const filler = join(data, "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M"]);
    await until("not ready", async () => !(await ready()));
    rmSync(filler);
    await until("ready again", ready);
  } finally {
    await server.stop();
    await model.close();
    execFileSync("/bin/umount", [data]);
  }
});
