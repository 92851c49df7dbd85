import * as fc from "fast-check";
import { connect, createServer } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { readFirstBytes } from "../../../agent-server/sandbox/egress/client-hello.ts";

/** What a real TLS client sends first. */
async function hello(servername: string, more: ConnectionOptions = {}): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const first = new Promise<Buffer>((resolve) => {
    server.once("connection", (socket) => {
      let bytes = Buffer.alloc(0);
      socket.on("error", () => {});
      socket.on("data", (part: Buffer) => {
        bytes = Buffer.concat([bytes, part]);
        if (bytes.length >= 5 + bytes.readUInt16BE(3)) {
          socket.destroy();
          resolve(bytes);
        }
      });
    });
  });
  const socket = connect({ port: typeof address === "object" && address !== null ? address.port : 0, host: "127.0.0.1" });
  const client = connectTls({ socket, servername, rejectUnauthorized: false, ...more });
  client.on("error", () => {});
  const bytes = await first;
  client.destroy();
  server.close();
  return bytes;
}

/** The same hello, its handshake cut into records of `size` bytes. */
function inRecords(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 5; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(parts);
}

describe("the first bytes of a connection", () => {
  it.each<[string, ConnectionOptions]>([
    ["TLS 1.3", {}],
    ["TLS 1.2", { maxVersion: "TLSv1.2" }],
  ])("contain the name that a real client requests: %s", async (_name, options) => {
    expect(readFirstBytes(await hello("listed.example", options))).toEqual({ kind: "hello", serverName: "listed.example" });
  });

  it("report a missing name", async () => {
    expect(readFirstBytes(await hello(""))).toEqual({ kind: "hello", serverName: null });
  });

  it("are read across any split", async () => {
    const bytes = await hello("listed.example");
    for (let at = 0; at < bytes.length; at += 1) expect(readFirstBytes(bytes.subarray(0, at))).toEqual({ kind: "more" });
    for (const size of [1, 3, 40, 100, 5_000])
      expect(readFirstBytes(inRecords(bytes, size)), String(size)).toEqual({ kind: "hello", serverName: "listed.example" });
  });

  it.each([
    ["a request in the open", "GET / HTTP/1.1\r\n\r\n"],
    ["ssh", "SSH-2.0-OpenSSH\r\n"],
    ["an older hello", "\x80\x2e\x01\x00\x02"],
    ["another record", "\x15\x03\x01\x00\x02\x01\x00"],
    ["an empty record", "\x16\x03\x01\x00\x00"],
  ])("are refused when they are not a hello: %s", (_name, text) => {
    expect(readFirstBytes(Buffer.from(text, "latin1"))).toEqual({ kind: "other" });
  });

  it("are refused with two names", async () => {
    const bytes = await hello("listed.example");
    const name = Buffer.from("listed.example");
    const at = bytes.indexOf(name);
    const extension = bytes.subarray(at - 9, at + name.length);
    // A second such extension, and the three lengths around it.
    const twice = Buffer.concat([bytes.subarray(0, at - 9), extension, bytes.subarray(at - 9)]);
    const add = (offset: number) => twice.writeUInt16BE(twice.readUInt16BE(offset) + extension.length, offset);
    add(3);
    add(7);
    const session = 5 + 4 + 34;
    const suites = session + 1 + (twice[session] ?? 0);
    const methods = suites + 2 + twice.readUInt16BE(suites);
    add(methods + 1 + (twice[methods] ?? 0));
    expect(readFirstBytes(twice)).toEqual({ kind: "other" });
  });

  it("never throw, and never yield a name that was not sent", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const first = readFirstBytes(bytes);
        if (first.kind === "hello" && first.serverName !== null)
          expect(Buffer.from(bytes).toString("latin1")).toContain(first.serverName.slice(0, 1));
      }),
    );
  });

  it("yield the same name or none when single bytes change", async () => {
    const bytes = await hello("listed.example");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        const first = readFirstBytes(changed);
        if (first.kind === "hello" && first.serverName !== null)
          expect(changed.includes(Buffer.from(first.serverName, "latin1"))).toBe(true);
      }),
    );
  });
});
