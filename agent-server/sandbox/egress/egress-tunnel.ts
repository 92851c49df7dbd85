import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { checkedLookup } from "../../security/security.ts";
import { readFirstBytes } from "./client-hello.ts";

/** Milliseconds, and bytes of both directions of one connection. */
export interface TunnelLimits {
  readonly connectMs: number;
  readonly helloMs: number;
  readonly idleMs: number;
  readonly lifeMs: number;
  readonly bytes: number;
}

export type Lookup = ReturnType<typeof checkedLookup>;

/** Opens a connection to a host's https port; the address connected to is the one that was checked. @throws what the lookup or the network says. */
export function openUpstream(host: string, lookup: Lookup, connectMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 443, lookup });
    const timer = setTimeout(() => socket.destroy(new Error("It did not answer in time.")), connectMs);
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
 * Waits for the first bytes of a client and tells whether they are TLS for this very host. @returns the bytes to send on, or why not.
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
      if (first.kind === "other") return finish({ refused: "What was sent is not TLS." });
      const name = first.serverName?.toLowerCase().replace(/\.$/, "") ?? null;
      if (name === host) return finish({ bytes });
      finish({
        refused:
          name === null ? "The server's name is missing from what was sent." : `What was sent is for ${printable(name)}, another host.`,
      });
    };
    const take = (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      judge();
    };
    const gone = () => finish({ refused: "It was closed before anything was asked." });
    const timer = setTimeout(() => finish({ refused: "Nothing was sent in time." }), helloMs);
    client.on("data", take);
    client.once("end", gone);
    client.once("close", gone);
    if (head.length > 0) judge();
    client.resume();
  });
}

/** Joins both sides until one closes or a limit is reached. @returns the bytes that went either way. */
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
    // A side that is full holds the other up: pipes do.
    client.pipe(upstream);
    upstream.pipe(client);
  });
}

function printable(name: string): string {
  return name.replaceAll(/[^a-z0-9.-]/g, "?").slice(0, 100);
}
