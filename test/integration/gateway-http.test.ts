import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { methods } from "../../agent-server/contract/table.ts";
import { sampleWorkspace, startServe, temporaryFolder } from "../support/host/built-host.ts";

const owner = "owner-token-of-this-test-0123456789abcdef";
const workspace = sampleWorkspace();
const data = temporaryFolder("gateway");
let server: Awaited<ReturnType<typeof startServe>>;

beforeAll(async () => {
  server = await startServe({
    workspace: workspace.path,
    data: data.path,
    env: { LANCELOT_OWNER_TOKEN: owner, LANCELOT_RATE_LIMIT: "100000/60" },
  });
});
afterAll(async () => {
  await server.stop();
  workspace[Symbol.dispose]();
  data[Symbol.dispose]();
});

const post = (path: string, body: unknown, token: string | null = server.token, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
  });
const rpc = (method: string, params: unknown, token = server.token) =>
  post("/rpc", { jsonrpc: "2.0", id: 1, method, params }, token).then((answer) => answer.json());

describe("the gateway", () => {
  it("answers health.live and health.ready without a token, and nothing else", async () => {
    expect(await fetch(`${server.url}/health/live`).then((answer) => answer.json())).toEqual({ status: "alive" });
    const ready = (await fetch(`${server.url}/health/ready`).then((answer) => answer.json())) as {
      ready: boolean;
      degradedReasons: string[];
    };
    expect(ready).toMatchObject({ ready: false, degradedReasons: [] });
    const known = (await fetch(`${server.url}/health/ready`, { headers: { authorization: `Bearer ${server.token}` } }).then((answer) =>
      answer.json(),
    )) as { degradedReasons: string[] };
    expect(known.degradedReasons).not.toEqual([]);
    expect((await fetch(`${server.url}/health/ready`, { method: "POST" })).status).toBe(401);
    for (const path of ["/openapi.json", "/system/status"]) expect((await fetch(`${server.url}${path}`)).status, path).toBe(401);
    expect((await post("/rpc", { jsonrpc: "2.0", id: 1, method: "host.info" }, null)).status).toBe(401);
    expect((await post("/rpc", { jsonrpc: "2.0", id: 1, method: "host.info" }, "wrong")).status).toBe(401);
  });

  it("answers JSON-RPC, single and batch, by the contract", async () => {
    expect(await rpc("host.info", {})).toMatchObject({ jsonrpc: "2.0", id: 1, result: { name: "lancelot" } });
    expect(await rpc("receipts.get", { id: "none" })).toMatchObject({ error: { data: { code: "not_found" } } });
    expect(await rpc("skills.list", {})).toMatchObject({ error: { data: { code: "unavailable" } } });
    const batch = await post("/rpc", [
      { jsonrpc: "2.0", id: 1, method: "health.live" },
      { jsonrpc: "2.0", id: 2, method: "no.such" },
    ]).then((answer) => answer.json());
    expect(batch).toMatchObject([
      { id: 1, result: { status: "alive" } },
      { id: 2, error: { code: -32601 } },
    ]);
    expect((await post("/rpc", "{not json")).status).toBe(400);
  });

  it("keeps owner methods for the owner token", async () => {
    expect(await rpc("tools.invoke", { tool: "list_files" })).toMatchObject({ error: { data: { code: "unauthorized" } } });
    expect(await rpc("tools.invoke", { tool: "list_files" }, owner)).toMatchObject({
      result: { output: expect.stringContaining("src/duration.js") },
    });
  });

  it("decides the same over every way in", async () => {
    const decision = await rpc("policy.evaluate", { capability: "file_ops", action: "read", args: { path: ".env" } });
    expect(decision).toMatchObject({ result: { verdict: "deny" } });
    const rest = await post("/rpc/policy.evaluate", { capability: "file_ops", action: "read", args: { path: ".env" } }).then((answer) =>
      answer.json(),
    );
    expect(rest.verdict).toBe("deny");
  });

  it("refuses foreign hosts and origins", async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${server.url}/health/live`, { headers: { host: "evil.example" } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on("error", reject).end();
    });
    expect(status).toBe(403);
    expect((await post("/rpc", {}, server.token, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post("/rpc", {}, server.token, { origin: "null" })).status).toBe(403);
    expect((await post("/rpc", { jsonrpc: "2.0", id: 1, method: "health.live" }, server.token, { origin: server.url })).status).toBe(200);
  });

  it("refuses a body over 1 MB", async () => {
    expect((await post("/rpc", { pad: "x".repeat(1024 * 1024) })).status).toBe(413);
  });

  it("describes itself: every method, every route, nothing of later versions", async () => {
    const document = (await fetch(`${server.url}/openapi.json`, { headers: { authorization: `Bearer ${server.token}` } }).then((answer) =>
      answer.json(),
    )) as { openapi: string; paths: Record<string, unknown> };
    expect(document.openapi).toBe("3.1.0");
    for (const [name, method] of Object.entries(methods)) {
      expect(document.paths, name).toHaveProperty([`/rpc/${name}`]);
      if ("route" in method && method.route) expect(document.paths).toHaveProperty([(method.route as { path: string }).path]);
    }
    expect(JSON.stringify(document.paths)).not.toContain("skills.list");
  });

  it("sends events over a WebSocket, in their order, to holders of the token only", async () => {
    const refused = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
    const code = await new Promise((resolve) => refused.once("unexpected-response", (_request, answer) => resolve(answer.statusCode)));
    expect(code).toBe(401);
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`, { headers: { authorization: `Bearer ${server.token}` } });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const seqs: number[] = [];
    const receipt = new Promise((resolve) =>
      socket.on("message", (text: Buffer) => {
        const event = JSON.parse(text.toString()) as { seq: number; topic: string };
        seqs.push(event.seq);
        if (event.topic === "receipt") resolve(event);
      }),
    );
    await rpc("tools.invoke", { tool: "read_file", args: { path: "README.md" } }, owner);
    await rpc("receipts.search", {});
    await receipt;
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    socket.close();
  });
});

it("limits the rate with 429 and Retry-After", async () => {
  using folder = temporaryFolder("rate");
  const limited = await startServe({ workspace: workspace.path, data: folder.path, env: { LANCELOT_RATE_LIMIT: "3/60" } });
  try {
    const answers = [];
    for (let count = 0; count < 5; count += 1)
      answers.push(await fetch(`${limited.url}/system/status`, { headers: { authorization: `Bearer ${limited.token}` } }));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 429, 429]);
    expect(Number(answers.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
  } finally {
    await limited.stop();
  }
});
