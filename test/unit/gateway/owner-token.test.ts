import { afterAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Method } from "../../../agent-server/contract/method.ts";
import { type Handlers, methods } from "../../../agent-server/contract/table.ts";
import { createDispatch } from "../../../agent-server/gateway/dispatch.ts";
import { createEventHub } from "../../../agent-server/gateway/events.ts";
import { type Gateway, startGateway } from "../../../agent-server/gateway/http.ts";
import { createOwnerGate } from "../../../agent-server/security/security.ts";
import { rightsOf } from "../../../agent-server/terminal/serve.ts";

const owned = Object.entries<Method>(methods).filter(([, { access }]) => access === "owner");
const reached: string[] = [];
const handlers = new Proxy({} as Handlers, {
  get: (_known, name) => () => {
    reached.push(String(name));
    throw new Error("reached");
  },
});
const refused: [string, string][] = [];
const dispatch = createDispatch(
  handlers,
  () => undefined,
  (why, method) => refused.push([why, method]),
);
const token = "the-printed-token-0123456789abcdef";
const gateways: Gateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
});

async function serve(set: string | undefined, dispatched = dispatch): Promise<Gateway> {
  const gateway = await startGateway({
    dispatch: dispatched,
    events: createEventHub(() => undefined),
    version: "0",
    port: 0,
    rights: rightsOf(token, set),
    rate: { limit: 100_000, windowMs: 1_000 },
    now: Date.now,
  });
  gateways.push(gateway);
  return gateway;
}

const asked = async (url: string, path: string, bearer: string | null, body: unknown, method = "POST") => {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }) },
    ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
};

describe("methods of the owner", () => {
  it("are those that change something for good", () => {
    const names = owned.map(([name]) => name);
    for (const name of ["approvals.decide", "changes.decide", "vault.set", "vault.list", "soul.approve", "soul.activate", "soul.rollback"])
      expect(names).toContain(name);
    for (const name of [
      "trust.decide",
      "learning.decide",
      "flags.set",
      "tools.safeMode",
      "tools.invoke",
      "repl.run",
      "checkpoints.restore",
    ])
      expect(names).toContain(name);
  });

  it.each(owned.map(([name]) => name))(
    "%s is refused without the token before its params are looked at, and the refusal is told",
    async (name) => {
      refused.length = 0;
      const call = { owner: false, signal: new AbortController().signal };
      for (const params of [{}, undefined, { enabled: true, id: "x", decision: "allow_once" }, { owner: true, ownerToken: token }])
        await expect(dispatch(name, params, call)).rejects.toMatchObject({ code: "unauthorized" });
      expect(refused).toEqual(Array.from({ length: 4 }, () => ["unauthorized", name]));
      expect(reached).toEqual([]);
    },
  );
});

const wrong: [what: string, set: string | undefined, bearer: string][] = [
  ["with another owner token set, the printed one", "the-owners-own-token", token],
  ["with a blank owner token set, the printed one", "", token],
  ["with an owner token of white space set, the printed one", "   ", token],
  ["with an owner token of white space set, white space", "   ", "   "],
  ["a wrong token", undefined, "wrong"],
  ["a part of the token", undefined, token.slice(0, -1)],
  ["the token in other case", undefined, token.toUpperCase()],
];

describe.each(wrong)("over the gateway: %s", (_what, set, bearer) => {
  it("is refused every owner method, by every way in", async () => {
    const { url } = await serve(set);
    for (const [name, { route }] of owned) {
      const rpc = await asked(url, "/rpc", bearer, { jsonrpc: "2.0", id: 1, method: name, params: {} });
      expect([name, rpc.text.includes("unauthorized")]).toEqual([name, true]);
      const batch = await asked(url, "/rpc", bearer, [{ jsonrpc: "2.0", id: 1, method: `lancelot/${name}`, params: {} }]);
      expect([name, batch.text.includes("unauthorized")]).toEqual([name, true]);
      const path = await asked(url, `/rpc/${name}`, bearer, {});
      expect([name, path.status]).toEqual([name, 401]);
      if (route === undefined) continue;
      const rest = await asked(url, route.path.replace(/\{\w+\}/g, "x"), bearer, {}, route.method);
      expect([name, rest.status]).toEqual([name, 401]);
    }
    expect(reached).toEqual([]);
  });
});

it("a WebSocket sends events to clients with a token and accepts no calls", async () => {
  const { url } = await serve(undefined);
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: { authorization: `Bearer ${token}` } });
  const answers: string[] = [];
  socket.on("message", (data: Buffer) => answers.push(data.toString()));
  await new Promise((resolve) => socket.once("open", resolve));
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "flags.set", params: { name: "SOUL", enabled: false } }));
  // The ping after it is answered once the message before it was read.
  await new Promise<void>((resolve) => {
    socket.once("pong", () => resolve());
    socket.ping();
  });
  socket.terminate();
  expect([answers, reached]).toEqual([[], []]);
  for (const [headers, status] of [
    [{}, "401"],
    [{ authorization: `Bearer ${token}`, origin: "https://evil.example" }, "403"],
    [{ authorization: `Bearer ${token}`, host: "evil.example" }, "403"],
  ] as const) {
    const refusedSocket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers });
    const message = await new Promise<string>((resolve) => {
      refusedSocket.once("error", (problem: Error) => resolve(problem.message));
      refusedSocket.once("open", () => resolve("open"));
    });
    refusedSocket.terminate();
    expect(message).toContain(status);
  }
});

it("the id in a path wins over one in the body", async () => {
  const { url } = await serve(undefined, (_name, params) => Promise.resolve(params));
  const { text } = await asked(url, "/memory/promote/asked", token, { id: "other" });
  expect(JSON.parse(text)).toEqual({ id: "asked" });
});

describe("the owner's gate", () => {
  it.each([null, "", " ", "\t\n"])("that was given %j is closed for good", (set) => {
    const gate = createOwnerGate(set);
    for (const presented of [set, "", " ", "x", null, undefined]) expect(gate.check(presented)).toBe(false);
  });
});

describe("texts", () => {
  const call = { owner: true, signal: new AbortController().signal };
  const texts: [string, (text: string) => unknown][] = [
    ["chat.send", (text) => ({ text })],
    ["chat.run", (message) => ({ message })],
    ["chat.steer", (text) => ({ questId: "q", text })],
    ["chat.answer", (answer) => ({ questId: "q", callId: "c", answer })],
    ["approvals.decide", (reason) => ({ id: "a", decision: "deny", reason })],
    ["soul.propose", (yaml) => ({ yaml, reason: "x" })],
    ["soul.propose", (reason) => ({ yaml: "x", reason })],
    ["security.inspect", (text) => ({ text })],
    ["security.redact", (text) => ({ text })],
    ["policy.explain", (command) => ({ command })],
    ["policy.evaluate", (command) => ({ capability: "shell_exec", action: "run", args: { deep: [{ command }] } })],
    ["repl.run", (command) => ({ command })],
    ["vault.set", (value) => ({ name: "A_KEY", value })],
    ["quests.rename", (title) => ({ id: "q", title })],
    ["receipts.search", (query) => ({ query })],
  ];

  it.each(texts)("of more than 1 MB are too large for %s, counted in bytes", async (name, params) => {
    await expect(dispatch(name, params("x".repeat(1_000_001)), call)).rejects.toMatchObject({ code: "too_large" });
    await expect(dispatch(name, params("€".repeat(333_334)), call)).rejects.toMatchObject({ code: "too_large" });
    await expect(dispatch(name, params("😀".repeat(250_001)), call)).rejects.toMatchObject({ code: "too_large" });
  });

  it("of exactly 1 MB are not, and attachments are apart", async () => {
    await expect(dispatch("chat.send", { text: "€".repeat(333_333) }, call)).rejects.toMatchObject({ code: "internal" });
    const data = "A".repeat(4_000_000);
    await expect(
      dispatch("chat.send", { text: "x", attachments: [{ type: "image", mediaType: "image/png", data }] }, call),
    ).rejects.toMatchObject({ code: "internal" });
    expect(reached.splice(0)).toEqual(["chat.send", "chat.send"]);
  });
});
