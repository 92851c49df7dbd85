import { randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join as joinPath } from "node:path";
import type { Duplex } from "node:stream";
import { LancelotError } from "../contract/errors.ts";
import { checkedLookup, type Log } from "../security/security.ts";
import { greeting, join, type Lookup, openUpstream, type TunnelLimits } from "./egress/egress-tunnel.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

/** One attempt of a command to reach a host, as it ended; for the receipt. */
export interface EgressConnection {
  /** As the command named it; lower case, without port. */
  readonly host: string;
  readonly allowed: boolean;
  /** Of both directions. */
  readonly bytes: number;
  /** Why not; null when it was let through. */
  readonly reason: string | null;
}

/** What the network policy says of an address; `NetworkJudgement` of governance is one. */
export interface EgressJudgement {
  readonly verdict: "allow" | "deny";
  readonly rule: { readonly message: string };
  readonly alternatives: readonly string[];
}

export interface EgressLimits extends TunnelLimits {
  /** Connections of one command at a time. */
  readonly connections: number;
}

/** Leave for one command, until it is revoked. */
export interface EgressGrant {
  /** On this machine; mounted into the sandbox. */
  readonly socketPath: string;
  /** The proxy's address with the word that lets this command through, for `HTTPS_PROXY`. @param address `host:port` where the command finds it. */
  proxyUrl(address: string): string;
  /** A port of loopback that leads to the same proxy, for sandboxes that cannot be given a socket. */
  loopbackPort(): Promise<number>;
  /** The word is worth nothing from here on, and what is open is closed. */
  revoke(): Promise<void>;
}

export interface EgressProxy {
  /** @param onConnection told of each connection when it is over. */
  grant(onConnection?: (connection: EgressConnection) => void): Promise<EgressGrant>;
  close(): Promise<void>;
}

const usual: EgressLimits = {
  connectMs: 15_000,
  helloMs: 10_000,
  idleMs: 120_000,
  lifeMs: 1_800_000,
  bytes: 4 * 1024 ** 3,
  connections: 64,
};

/**
 * The one way to the network for commands: an HTTP proxy that opens tunnels (CONNECT) to the https hosts of the network policy and to
 * nothing else. Each request is judged anew, the address it leads to is checked as for the product's own requests, and the name within
 * the TLS hello must be the one that was asked for. Only commands that were given leave get through, while they run.
 */
export function createEgressProxy(deps: {
  readonly judge: (url: string) => EgressJudgement;
  readonly onConnection: (connection: EgressConnection) => void;
  readonly log: Log;
  readonly lookup?: Lookup;
  readonly limits?: Partial<EgressLimits>;
}): EgressProxy {
  const limits: EgressLimits = { ...usual, ...deps.limits };
  const lookup = deps.lookup ?? checkedLookup();
  interface Leave {
    readonly word: Buffer;
    readonly open: Set<Duplex>;
    readonly tell: (connection: EgressConnection) => void;
  }
  const leaves = new Set<Leave>();
  let folder: string | null = null;
  let onSocket: Promise<Server> | null = null;
  let onLoopback: Promise<Server> | null = null;

  function grantOf(request: IncomingMessage): Leave | null {
    const [scheme, encoded = ""] = (request.headers["proxy-authorization"] ?? "").split(" ");
    if (scheme?.toLowerCase() !== "basic") return null;
    const given = Buffer.from(
      Buffer.from(encoded, "base64")
        .toString("latin1")
        .replace(/^[^:]*:/, ""),
      "latin1",
    );
    return [...leaves].find(({ word }) => given.length === word.length && timingSafeEqual(given, word)) ?? null;
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => client.destroy());
    const leave = grantOf(request);
    if (leave === null) return refuse(client, 407, "This command was not given the network.", askForIt);
    const host =
      /^([^:[\]]+|\[[0-9a-f:.]+\]):\d{1,5}$/i
        .exec(request.url ?? "")?.[1]
        ?.toLowerCase()
        .replace(/\.$/, "") ?? "";
    const port = (request.url ?? "").split(":").at(-1) ?? "";
    const no = (status: number, message: string, next: readonly string[]) => {
      leave.tell({ host, allowed: false, bytes: 0, reason: message });
      refuse(client, status, message, next);
    };
    if (host === "") return no(400, "This is not an address that can be read only one way.", []);
    const judged = deps.judge(`https://${host}${port === "443" ? "" : `:${port}`}/`);
    if (judged.verdict !== "allow") return no(403, judged.rule.message, judged.alternatives);
    if (leave.open.size >= limits.connections)
      return no(429, `A command may have ${limits.connections} connections at a time.`, ["Use fewer at once."]);

    leave.open.add(client);
    try {
      const upstream = await openUpstream(host, lookup, limits.connectMs).catch((error: unknown) => {
        if (error instanceof LancelotError) no(403, error.message, []);
        else no(502, `${host} cannot be reached now.`, ["Try again later."]);
        return null;
      });
      if (upstream === null) return;
      if (!leaves.has(leave)) return void upstream.destroy();
      leave.open.add(upstream);
      upstream.on("error", () => client.destroy());
      client.on("close", () => upstream.destroy());
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      const greeted = await greeting(client, head, host, limits.helloMs);
      if ("refused" in greeted) {
        upstream.destroy();
        client.destroy();
        return leave.tell({ host, allowed: false, bytes: 0, reason: greeted.refused });
      }
      upstream.write(greeted.bytes);
      const bytes = greeted.bytes.length + (await join(client, upstream, limits));
      leave.open.delete(upstream);
      leave.tell({ host, allowed: true, bytes, reason: null });
    } finally {
      leave.open.delete(client);
    }
  }

  function listen(start: (server: Server, done: () => void) => void): Promise<Server> {
    // Taken when used: an `import` of node:http reads all its exports, and one of them loads Node's own undici (15 ms of a start).
    const { createServer } = process.getBuiltinModule("node:http");
    const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) => {
      // Everything that is no CONNECT: requests in the open.
      const leave = grantOf(request);
      const address = request.url ?? "";
      const host = URL.canParse(address) ? new URL(address).hostname : "";
      leave?.tell({ host, allowed: false, bytes: 0, reason: "It was not encrypted." });
      const [status, text, next] =
        leave === null
          ? ([407, "This command was not given the network.", askForIt] as const)
          : ([403, "Only https is let through.", ["Use the https address."]] as const);
      response.writeHead(status, headers(status)).end(body(text, next));
    });
    server.maxConnections = 512;
    server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
      tunnel(request, client, head).catch((error: unknown) => {
        client.destroy();
        deps.log("A connection of a command ended in an error.", error);
      });
    });
    server.on("clientError", (_error, socket) => socket.destroy());
    server.unref();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      start(server, () => resolve(server));
    });
  }

  function socketFolder(): string {
    if (folder !== null) return folder;
    folder = makeTemporaryFolder("egress");
    // As root commands run as the workspace's owner, who has to get there; without the word there is nothing to be had.
    if (process.getuid?.() === 0) chmodSync(folder, 0o711);
    return folder;
  }

  return {
    async grant(onConnection) {
      const socketPath = joinPath(socketFolder(), "proxy.sock");
      await (onSocket ??= listen((server, done) =>
        server.listen(socketPath, () => {
          // In a container the forwarder is a user of its own. The folder is closed to others, and the word is needed all the same.
          chmodSync(socketPath, 0o666);
          done();
        }),
      ));
      const word = randomBytes(24).toString("hex");
      const leave: Leave = {
        word: Buffer.from(word, "latin1"),
        open: new Set(),
        tell(connection) {
          deps.onConnection(connection);
          onConnection?.(connection);
        },
      };
      leaves.add(leave);
      return {
        socketPath,
        proxyUrl: (address) => `http://command:${word}@${address}`,
        async loopbackPort() {
          const server = await (onLoopback ??= listen((one, done) => one.listen(0, "127.0.0.1", done)));
          return (server.address() as AddressInfo).port;
        },
        async revoke() {
          leaves.delete(leave);
          for (const socket of leave.open) socket.destroy();
          // What was just closed is told before the command's receipt is.
          await new Promise((resolve) => setImmediate(resolve));
        },
      };
    },
    async close() {
      for (const { open } of leaves) for (const socket of open) socket.destroy();
      leaves.clear();
      for (const starting of [onSocket, onLoopback]) {
        const server = await starting?.catch(() => null);
        server?.closeAllConnections();
        if (server !== null && server !== undefined) await new Promise((resolve) => server.close(resolve));
      }
      onSocket = null;
      onLoopback = null;
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
      folder = null;
    },
  };
}

const askForIt = ["Ask for the network when the command is run."] as const;

/** Programs show the words beside the number more often than what follows, so the sentence stands in both. */
function refuse(client: Duplex, status: number, message: string, next: readonly string[]): void {
  const text = body(message, next);
  const lines = Object.entries(headers(status)).map(([name, value]) => `${name}: ${value}`);
  const words = message.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
  client.end(`HTTP/1.1 ${status} ${words}\r\n${lines.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function headers(status: number): Record<string, string> {
  return {
    "Content-Type": "text/plain; charset=utf-8",
    Connection: "close",
    ...(status === 407 ? { "Proxy-Authenticate": 'Basic realm="Lancelot"' } : {}),
  };
}

function body(message: string, next: readonly string[]): string {
  return [message, ...next, ""].join("\n");
}
