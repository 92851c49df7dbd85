import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sampleWorkspace, startServe, temporaryFolder } from "../support/host/built-host.ts";

const workspace = sampleWorkspace();
const data = temporaryFolder("raw");
let server: Awaited<ReturnType<typeof startServe>>;
let port = 0;
const open: Socket[] = [];

beforeAll(async () => {
  server = await startServe({ workspace: workspace.path, data: data.path, env: { LANCELOT_RATE_LIMIT: "100000/60" } });
  port = Number(new URL(server.url).port);
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});
afterAll(async () => {
  await server.stop();
  workspace[Symbol.dispose]();
  data[Symbol.dispose]();
});

/** A raw connection to the gateway, with what it answered so far. */
async function dial(allowHalfOpen = false): Promise<{ socket: Socket; closed: Promise<string>; first: Promise<string> }> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen });
  open.push(socket);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("error", () => undefined);
  let text = "";
  const first = new Promise<string>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.includes("\r\n\r\n")) resolve(text);
    });
    socket.once("close", () => resolve(text));
  });
  const closed = new Promise<string>((resolve) => {
    for (const event of ["end", "close"] as const) socket.once(event, () => resolve(text));
  });
  return { socket, closed, first };
}

/** Sends bytes and returns the status of the first answer; 0 when the gateway hung up without one. */
async function statusOf(bytes: string | Buffer): Promise<number> {
  const { socket, first } = await dial();
  socket.write(bytes);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(await first)?.[1] ?? 0);
}

async function isAlive(): Promise<void> {
  expect(server.child.exitCode).toBeNull();
  expect(await fetch(`${server.url}/health/live`).then((answer) => answer.json())).toEqual({ status: "alive" });
}

const host = () => `127.0.0.1:${String(port)}`;
const upgrade = (target: string, headers: readonly string[] = [], method = "GET") =>
  [
    `${method} ${target} HTTP/1.1`,
    ...(headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${host()}`]),
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    ...headers,
    "",
    "",
  ].join("\r\n");
const plain = (target: string, headers: readonly string[] = [], method = "GET") =>
  [`${method} ${target} HTTP/1.1`, ...(headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${host()}`]), ...headers, "", ""].join(
    "\r\n",
  );
const bearer = () => `Authorization: Bearer ${server.token}`;

const targets = [
  "//",
  "http://[",
  "///",
  "//[",
  "http://",
  "http://:99999/",
  "http://%",
  "/%zz",
  "/\\",
  "*",
  "//ws",
  "https://a b",
  "ws://[",
];

describe("a connection without a token does not end the host", () => {
  it.each(targets)("an upgrade to %s", async (target) => {
    expect([400, 401, 403, 404]).toContain(await statusOf(upgrade(target)));
    await isAlive();
  });

  it.each(targets)("an upgrade with the token to %s", async (target) => {
    expect([400, 404]).toContain(await statusOf(upgrade(target, [bearer()])));
    await isAlive();
  });

  it.each(targets)("a request with the token for %s", async (target) => {
    expect([400, 404]).toContain(await statusOf(plain(target, [bearer()])));
    await isAlive();
  });

  it.each([
    ["a foreign host", ["Host: evil.example"], 403],
    ["a host with a port out of range", ["Host: 127.0.0.1:99999"], 401],
    ["a host that does not parse", ["Host: ["], 403],
    ["an empty host", ["Host: "], 403],
    ["an origin that does not parse", ["Origin: http://["], 403],
    ["a wrong token", ["Authorization: Bearer wrong"], 401],
    ["an empty protocol", ["Sec-WebSocket-Protocol: ,,,"], 401],
    ["a blank token as protocol", ["Sec-WebSocket-Protocol: bearer."], 401],
    ["another protocol than WebSocket", ["Upgrade: h2c"], 401],
  ])("an upgrade with %s", async (_what, headers, status) => {
    expect(await statusOf(upgrade("/ws", headers))).toBe(status);
    await isAlive();
  });

  it.each([
    ["a host with a port out of range", ["Host: 127.0.0.1:99999"]],
    ["a host that does not parse", ["Host: ["]],
    ["an empty host", ["Host: "]],
    ["an origin that does not parse", ["Origin: http://["]],
  ])("a request with %s", async (_what, headers) => {
    expect([400, 403]).toContain(await statusOf(plain("/health/live", headers)));
    await isAlive();
  });

  it.each([
    ["a POST", "POST", []],
    ["an unknown method", "BREW", []],
    ["a version that is not 13", "GET", ["Sec-WebSocket-Version: 99"]],
    ["a second key", "GET", ["Sec-WebSocket-Key: short"]],
    ["an extension that does not parse", "GET", ["Sec-WebSocket-Extensions: ;;=,"]],
    ["a protocol that does not parse", "GET", ["Sec-WebSocket-Protocol: a b,,"]],
  ])("an upgrade with the token and %s", async (_what, method, headers) => {
    expect([0, 101, 400, 405, 426]).toContain(await statusOf(upgrade("/ws", [bearer(), ...headers], method)));
    await isAlive();
  });

  it.each([
    ["garbage", "\u0000\u0001\u0002\r\n\r\n"],
    ["TLS", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
    ["no version", "GET /\r\n\r\n"],
    ["HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a header without a colon", `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nnonsense\r\n\r\n`],
    ["two lengths", "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"],
    ["a negative length", "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n"],
    ["a length and chunks", "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a chunk size that is not hexadecimal", "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"],
    ["a huge header", `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Pad: ${"x".repeat(100_000)}\r\n\r\n`],
    ["thousands of headers", `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n${"X: y\r\n".repeat(5_000)}\r\n`],
    ["a huge target", `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`],
    ["a CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    ["an expectation", "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 999-nothing\r\nContent-Length: 2\r\n\r\n{}"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
  ])("%s", async (_what, bytes) => {
    expect([0, 400, 401, 403, 404, 405, 413, 414, 417, 431]).toContain(await statusOf(bytes));
    await isAlive();
  });

  it("answers pipelined requests in order, with one that does not parse among them", async () => {
    const { socket, closed } = await dial();
    socket.write(`${plain("/health/live").repeat(20)}GET\r\n\r\n`);
    // The fault ends the connection; what was answered before it is whole.
    expect((await closed).match(/HTTP\/1\.1 \d{3}/g) ?? []).not.toContain("HTTP/1.1 500");
    await isAlive();
  });

  it("keeps on after an upgrade that follows a request on the same connection", async () => {
    const { socket, closed } = await dial();
    socket.write(`${plain("/health/live")}${upgrade("//")}`);
    await closed;
    await isAlive();
  });
});

describe("a reset at any stage does not end the host", () => {
  const stages: readonly [string, () => string][] = [
    ["before the first byte", () => ""],
    ["within the request line", () => "GET /wh"],
    ["within a header", () => `GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConn`],
    ["within a body", () => `POST /rpc HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}\r\nContent-Length: 500\r\n\r\n{"json`],
    ["within a chunk", () => `POST /rpc HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{`],
    ["after a request", () => plain("/health/ready", [bearer()])],
    ["after many requests", () => plain("/openapi.json", [bearer()]).repeat(50)],
    ["after a refused upgrade", () => upgrade("/ws")],
    ["after a refused upgrade of a foreign host", () => upgrade("/ws", ["Host: evil.example"])],
    ["after a refused upgrade and more bytes", () => upgrade("/none") + "x".repeat(200_000)],
    ["after an accepted upgrade", () => upgrade("/ws", [bearer()])],
    ["within a frame", () => `${upgrade("/ws", [bearer()])}\u0081`],
  ];
  it.each(stages)("%s", async (_what, bytes) => {
    for (let round = 0; round < 20; round += 1) {
      const { socket } = await dial();
      const text = bytes();
      if (text !== "") await new Promise((resolve) => socket.write(text, resolve));
      socket.resetAndDestroy();
    }
    await isAlive();
  });

  it("releases the connection of a refused upgrade that the client keeps open", async () => {
    const { socket, first } = await dial(true);
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.write(upgrade("/ws"));
    expect(await first).toMatch(/^HTTP\/1\.1 401/);
    // The client does not close its side; the gateway resets what still arrives on it.
    const timer = setInterval(() => socket.write("still here"), 20);
    await ended;
    clearInterval(timer);
    await isAlive();
  });
});

describe("a WebSocket that breaks the protocol is closed alone", () => {
  /** A frame as a client sends it, masked with zeros unless `mask` is false. */
  const frame = (first: number, payload: Buffer, mask = true, length = payload.length) => {
    const head =
      length < 126
        ? Buffer.from([first, (mask ? 0x80 : 0) | length])
        : length < 65_536
          ? Buffer.from([first, (mask ? 0x80 : 0) | 126, length >> 8, length & 255])
          : Buffer.concat([Buffer.from([first, (mask ? 0x80 : 0) | 127]), bigLength(length)]);
    return Buffer.concat([head, mask ? Buffer.alloc(4) : Buffer.alloc(0), payload]);
  };
  const bigLength = (length: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(length));
    return bytes;
  };
  const closeCode = (code: number) => frame(0x88, Buffer.from([code >> 8, code & 255]));

  it.each<[string, Buffer]>([
    ["an unmasked frame", frame(0x81, Buffer.from("hi"), false)],
    ["reserved bits", frame(0xf1, Buffer.from("hi"))],
    ["an unknown opcode", frame(0x83, Buffer.from("hi"))],
    ["a continuation of nothing", frame(0x80, Buffer.from("hi"))],
    ["text that is not UTF-8", frame(0x81, Buffer.from([0xc3, 0x28]))],
    ["a fragmented ping", frame(0x09, Buffer.from("hi"))],
    ["a long ping", frame(0x89, Buffer.alloc(200))],
    ["a message over the limit", frame(0x82, Buffer.alloc(0), true, 2 * 1024 * 1024)],
    ["a length beyond every number", Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0xff), Buffer.alloc(4)])],
    ["a close with one byte", frame(0x88, Buffer.from([3]))],
    ["a reserved close code", closeCode(1005)],
    ["a close code out of range", closeCode(9999)],
    ["an ordinary close", closeCode(1000)],
    ["a close with a reason that is not UTF-8", frame(0x88, Buffer.from([3, 232, 0xc3, 0x28]))],
    ["fragments over the limit", Buffer.concat([frame(0x02, Buffer.alloc(700_000)), frame(0x00, Buffer.alloc(700_000))])],
  ])("%s", async (_what, bytes) => {
    const { socket, first, closed } = await dial();
    socket.write(upgrade("/ws", [bearer()]));
    expect(await first).toMatch(/^HTTP\/1\.1 101/);
    socket.write(bytes);
    await closed;
    await isAlive();
  });

  it("lives through thousands of pings and messages of no meaning", async () => {
    const { socket, first, closed } = await dial();
    socket.write(upgrade("/ws", [bearer()]));
    expect(await first).toMatch(/^HTTP\/1\.1 101/);
    socket.write(Buffer.concat(Array.from({ length: 3_000 }, () => frame(0x89, Buffer.from("ping")))));
    socket.write(Buffer.concat(Array.from({ length: 3_000 }, () => frame(0x81, Buffer.from('{"jsonrpc":"2.0"}')))));
    socket.write(closeCode(1000));
    await closed;
    await isAlive();
  });

  it("answers others while hundreds of connections send one byte at a time", async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, dial));
    for (const { socket } of slow) socket.write("GET / HTTP/1.1\r\nHost: 127");
    for (let round = 0; round < 5; round += 1) {
      for (const { socket } of slow) socket.write(".");
      await isAlive();
    }
  });
});
