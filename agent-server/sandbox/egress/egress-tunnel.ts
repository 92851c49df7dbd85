import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { checkedLookup } from "../../security/security.ts";
import { readFirstBytes } from "./client-hello.ts";

/** Times in milliseconds; bytes count both directions of one connection. */
export interface TunnelLimits {
  readonly connectMs: number;
  readonly helloMs: number;
  readonly idleMs: number;
  readonly lifeMs: number;
  readonly bytes: number;
}

export type Lookup = ReturnType<typeof checkedLookup>;

/** Connects to a host's https port, at the address that was checked. @throws the lookup's or network's error. */
export function openUpstream(host: string, lookup: Lookup, connectMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 443, lookup });
    const timer = setTimeout(() => socket.destroy(new Error("The server did not respond in time.")), connectMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

/**
 * Checks that a client's first bytes are a TLS hello for this host. @returns the bytes to forward, or the reason for rejection.
 */
export function greeting(client: Duplex, head: Buffer, host: string, helloMs: number): Promise<{ bytes: Buffer } | { refused: string }> {
  return new Promise((resolve) => {
    let bytes = head;
    const finish = (result: { bytes: Buffer } | { refused: string }) => {
      clearTimeout(timer);
      client.pause();
      client.off("data", take);
      client.off("end", gone);
      client.off("close", gone);
      resolve(result);
    };
    const judge = () => {
      const first = readFirstBytes(bytes);
      if (first.kind === "more") return;
      if (first.kind === "other") return finish({ refused: "The client did not send TLS." });
      const name = first.serverName?.toLowerCase().replace(/\.$/, "") ?? null;
      if (name === host) return finish({ bytes });
      finish({
        refused: name === null ? "The TLS hello contains no server name." : `The TLS hello names another host, ${printable(name)}.`,
      });
    };
    const take = (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      judge();
    };
    const gone = () => finish({ refused: "The client closed the connection before it sent a request." });
    const timer = setTimeout(() => finish({ refused: "The client sent nothing in time." }), helloMs);
    client.on("data", take);
    client.once("end", gone);
    client.once("close", gone);
    if (head.length > 0) judge();
    client.resume();
  });
}

/** Connects both sides until one closes or a limit is reached. @returns the bytes of both directions. */
export function join(client: Duplex, upstream: Socket, limits: TunnelLimits): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    let idle: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(idle);
      clearTimeout(life);
      client.destroy();
      upstream.destroy();
      resolve(bytes);
    };
    const life = setTimeout(end, limits.lifeMs);
    const count = (part: Buffer) => {
      bytes += part.length;
      clearTimeout(idle);
      idle = setTimeout(end, limits.idleMs);
      if (bytes > limits.bytes) end();
    };
    for (const side of [client, upstream]) {
      side.on("error", end);
      side.on("close", end);
      side.on("data", count);
    }
    count(Buffer.alloc(0));
    // Piping applies backpressure to the faster side.
    client.pipe(upstream);
    upstream.pipe(client);
  });
}

function printable(name: string): string {
  return name.replaceAll(/[^a-z0-9.-]/g, "?").slice(0, 100);
}
