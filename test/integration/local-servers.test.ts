// @module-tag local-model
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { createServers, type Servers } from "../../agent-server/models/servers/servers.ts";
import { createGatedFetch } from "../../agent-server/security/security.ts";
import { type PlayedKind, type PlayedServer, playModelServer, serve } from "../support/models/model-servers.ts";
import { ask, createModelsFixture, failure } from "../support/models-fixture.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});
const signal = () => new AbortController().signal;

async function play(...options: Parameters<typeof playModelServer>): Promise<PlayedServer> {
  const server = await playModelServer(...options);
  open.push(server);
  return server;
}

function lookFor(servers: { port: number }[], configured: { name: string; baseUrl: string }[] = [], timeoutMs = 30_000): Servers {
  const ports = servers.map(({ port }) => port);
  return createServers({ gatedFetch: createGatedFetch({ env: {} }), configured: () => configured, ports, timeoutMs });
}

describe("model servers on this machine", () => {
  it.each<[PlayedKind, string, number | null]>([
    ["ollama", "Ollama", 4_096],
    ["llama-server", "llama-server", 8_192],
    ["lm-studio", "LM Studio", 8_192],
    ["vllm", "vLLM", 8_192],
    ["other", "Model server", null],
  ])("%s is found by what only it answers, with its models and their windows", async (kind, displayName, contextWindow) => {
    const server = await play(kind, ["qwen3:4b", "coder"]);
    const [found, ...more] = await lookFor([server]).find(signal());
    expect(more).toEqual([]);
    expect(found).toEqual({
      kind,
      displayName,
      url: `${server.origin}/v1`,
      models: ["qwen3:4b", "coder"].map((model) => ({ model, contextWindow })),
      structured: null,
      provider: null,
      problem: null,
    });
    expect(server.asked.every(({ method, path }) => method === "GET" || path === "/api/show")).toBe(true);
  });

  it("takes the window that Ollama's owner set", async () => {
    const [found] = await lookFor([await play("ollama", ["with-set-window"])]).find(signal());
    expect(found?.models).toEqual([{ model: "with-set-window", contextWindow: 16_384 }]);
  });

  it("finds several at once, and those of models.yaml at other ports, under their names there", async () => {
    const [one, two, named] = [await play("ollama", ["a"]), await play("vllm", ["b"]), await play("lm-studio", ["c"])];
    const configured = [
      { name: "work", baseUrl: `http://localhost:${named.port}/v1/` },
      { name: "far", baseUrl: "https://models.example.com/v1" },
    ];
    const found = await lookFor([one, two], configured).find(signal());
    expect(found.map(({ kind, provider }) => [kind, provider])).toEqual([
      ["ollama", null],
      ["vllm", null],
      ["lm-studio", "work"],
    ]);
  });

  it("says what a server lacks: a model, a key, time", async () => {
    const empty = await play("ollama", []);
    const locked = await serve({
      "*": (_, response) => response.writeHead(401, { "content-type": "application/json" }).end('{"error":"Unauthorized"}'),
    });
    const loading = await serve({
      "*": (_, response) =>
        response.writeHead(503, { "content-type": "application/json" }).end('{"error":{"code":503,"message":"Loading model"}}'),
    });
    open.push(locked, loading);
    const problems = (await lookFor([empty, locked, loading]).find(signal())).map(({ problem }) => problem);
    expect(problems).toEqual([
      expect.stringContaining("ollama pull"),
      expect.stringContaining("API key"),
      expect.stringContaining("still loading"),
    ]);
  });

  it("takes nothing else for one, and asks it little", async () => {
    const others = await Promise.all([
      serve({ "*": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>My site</h1>") }),
      serve({ "*": (_, response) => response.writeHead(200, { "content-type": "application/json" }).end('{"status":"up"}') }),
      serve({ "*": (_, response) => response.writeHead(200, { "content-type": "application/json" }).end('{"data":[{"name":"Ann"}]}') }),
      serve({ "*": (_, response) => response.writeHead(200, { "content-type": "application/json" }).end('{"data":') }),
      serve({}),
      serve({ "*": (_, response) => response.writeHead(302, { location: "https://example.com/v1/models" }).end() }),
      serve({ "*": (_, response) => response.writeHead(401).end("<form>Sign in</form>") }),
      serve({ "*": () => undefined }),
      serve({ "*": (_, response) => endless(response) }),
    ]);
    open.push(...others);
    const garbage = await rawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    const silent = await rawServer(() => undefined);
    expect(await lookFor([...others, garbage, silent], [], 400).find(signal())).toEqual([]);
    for (const { asked } of others) {
      expect(asked.every(({ method, path }) => method === "GET" && path === "/v1/models")).toBe(true);
      expect(asked.length).toBeLessThanOrEqual(2);
    }
  });

  it("finds none where none is", async () => {
    const gone = await play("ollama", ["a"]);
    await gone.close();
    open.pop();
    expect(await lookFor([gone]).find(signal())).toEqual([]);
  });
});

describe("a server the owner chooses", () => {
  const userYaml = '# mine\nversion: "1.0"\nproviders:\n  # at work\n  work: { kind: anthropic, fast: { model: some-model } }\n';

  it.each<PlayedKind>(["ollama", "llama-server", "lm-studio", "vllm"])(
    "%s answers from then on, and nothing was written before",
    async (kind) => {
      const server = await play(kind, ["qwen3:4b"], { expectedText: "Hello from here." });
      const fixture = createModelsFixture({ yaml: userYaml });
      open.push(fixture);
      const file = join(fixture.dataDir, "config/models.yaml");
      await fixture.models.localOperations.servers(signal());
      expect(readFileSync(file, "utf8")).toBe(userYaml);
      const { provider, model } = await fixture.models.localOperations.useServer(`${server.origin}/v1`, "qwen3:4b", signal());
      expect([provider, model]).toEqual([kind, "qwen3:4b"]);
      const text = readFileSync(file, "utf8");
      expect(text).toContain("# mine");
      expect(text).toContain("# at work");
      expect(await fixture.models.active()).toMatchObject({
        provider: kind,
        model: "qwen3:4b",
        contextWindow: kind === "ollama" ? 4_096 : 8_192,
      });
      expect((await ask(fixture.models, {})).text).toBe("Hello from here.");
      const { items } = fixture.ledger.search({ query: "useServer", limit: 5 });
      expect(items.map(({ actionName, status }) => [actionName, status])).toEqual([["models.useServer", "success"]]);
      // Chosen again it is the same provider, not another.
      expect((await fixture.models.localOperations.useServer(`${server.origin}/v1`, "qwen3:4b", signal())).provider).toBe(kind);
      const [found] = (await fixture.models.localOperations.servers(signal())).filter(({ url }) => url === `${server.origin}/v1`);
      expect(found).toMatchObject({ provider: kind, structured: true });
    },
  );

  it.each(["refuses", "ignores"] as const)("that %s JSON schemas is known to, and text answers are parsed instead", async (schema) => {
    const server = await play("llama-server", ["m"], { schema, expectedText: '{"kind": "plan"}' });
    const fixture = createModelsFixture({ yaml: userYaml });
    open.push(fixture);
    await fixture.models.localOperations.useServer(`${server.origin}/v1`, "m", signal());
    const [found] = (await fixture.models.localOperations.servers(signal())).filter(({ provider }) => provider !== null);
    expect(found?.structured).toBe(false);
    server.asked.length = 0;
    const responseSchema = { name: "kind", schema: { type: "object", properties: { kind: { type: "string" } }, required: ["kind"] } };
    expect(JSON.parse((await ask(fixture.models, { responseSchema })).text)).toEqual({ kind: "plan" });
    const chats = server.asked.filter(({ path }) => path === "/v1/chat/completions");
    expect(
      chats.map(
        ({ body }) => z.looseObject({ response_format: z.looseObject({ type: z.string() }).optional() }).parse(body).response_format?.type,
      ),
    ).not.toContain("json_schema");
  });

  it("must be there, offer the model, and be on this machine", async () => {
    const server = await play("vllm", ["m"]);
    const fixture = createModelsFixture({ yaml: userYaml });
    open.push(fixture);
    const use = (url: string, model: string) => failure(fixture.models.localOperations.useServer(url, model, signal()));
    expect(await use(`${server.origin}/v1`, "other")).toMatchObject({
      code: "not_found",
      message: expect.stringContaining("does not offer other"),
    });
    expect(await use("http://192.0.2.7:11434/v1", "m")).toMatchObject({ code: "invalid_params" });
    await server.close();
    open.splice(open.indexOf(server), 1);
    expect(await use(`${server.origin}/v1`, "m")).toMatchObject({
      code: "not_found",
    });
    expect(readFileSync(join(fixture.dataDir, "config/models.yaml"), "utf8")).toBe(userYaml);
  });

  it("is not written while the environment decides, or the owner's file is broken", async () => {
    const server = await play("vllm", ["m"]);
    const fixed = createModelsFixture({ env: { LANCELOT_PROVIDER: "anthropic" } });
    const broken = createModelsFixture({ yaml: "providers: [" });
    open.push(fixed, broken);
    for (const fixture of [fixed, broken])
      expect(await failure(fixture.models.localOperations.useServer(`${server.origin}/v1`, "m", signal()))).toMatchObject({
        code: "conflict",
      });
    expect(existsSync(join(fixed.dataDir, "config/models.yaml"))).toBe(false);
    expect(readFileSync(join(broken.dataDir, "config/models.yaml"), "utf8")).toBe("providers: [");
  });
});

function endless(response: {
  writeHead(status: number): unknown;
  write(text: string): boolean;
  on(event: string, listener: () => void): unknown;
}): void {
  response.writeHead(200);
  const piece = "x".repeat(60_000);
  const more = (): void => {
    while (response.write(piece));
  };
  response.on("drain", more);
  more();
}

async function rawServer(onSocket: (socket: Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  open.push({
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  return z.object({ port: z.number() }).parse(server.address());
}
