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

/** A completed connection attempt of a command, for the receipt. */
export interface EgressConnection {
  /** The host name as the command requested it, in lower case, without port. */
  readonly host: string;
  readonly allowed: boolean;
  /** Bytes of both directions. */
  readonly bytes: number;
  /** Reason for the rejection; null when it was allowed. */
  readonly reason: string | null;
}

/** The network policy's decision on an address, such as governance's `NetworkJudgment`. */
export interface EgressJudgement {
  readonly verdict: "allow" | "deny";
  readonly rule: { readonly message: string };
  readonly alternatives: readonly string[];
}

export interface EgressLimits extends TunnelLimits {
  /** Maximum concurrent connections per command. */
  readonly connections: number;
}

/** Network access for one command, until it is revoked. */
export interface EgressGrant {
  /** Socket on this machine, to mount into the sandbox. */
  readonly socketPath: string;
  /** The proxy's address with this command's token, for `HTTPS_PROXY`. @param address `host:port` of the proxy as the command sees it. */
  proxyUrl(address: string): string;
  /** A loopback port of the same proxy, for sandboxes that cannot mount a socket. */
  loopbackPort(): Promise<number>;
  /** Invalidates the token and closes open connections. */
  revoke(): Promise<void>;
}

export interface EgressProxy {
  /** @param onConnection called after each connection has ended @param hosts the only ones to reach; the allowlist if absent */
  grant(onConnection?: (connection: EgressConnection) => void, hosts?: readonly string[]): Promise<EgressGrant>;
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
 * The only network access of commands: an HTTP proxy for tunnels (CONNECT) to https hosts that the network policy allows. It checks each
 * request again, applies the product's own address checks, and requires the TLS hello to name the requested host. Only commands with a
 * grant are served, while they run.
 */
export function createEgressProxy(deps: {
  readonly judge: (url: string, approved: readonly string[] | null) => EgressJudgement;
  readonly onConnection: (connection: EgressConnection) => void;
  readonly log: Log;
  readonly lookup?: Lookup;
  readonly limits?: Partial<EgressLimits>;
}): EgressProxy {
  const limits: EgressLimits = { ...usual, ...deps.limits };
  const lookup = deps.lookup ?? checkedLookup();
  interface OpenGrant {
    readonly token: Buffer;
    readonly open: Set<Duplex>;
    readonly hosts: readonly string[] | null;
    readonly tell: (connection: EgressConnection) => void;
  }
  const grants = new Set<OpenGrant>();
  let folder: string | null = null;
  let onSocket: Promise<Server> | null = null;
  let onLoopback: Promise<Server> | null = null;

  function grantOf(request: IncomingMessage): OpenGrant | null {
    const [scheme, encoded = ""] = (request.headers["proxy-authorization"] ?? "").split(" ");
    if (scheme?.toLowerCase() !== "basic") return null;
    const given = Buffer.from(
      Buffer.from(encoded, "base64")
        .toString("latin1")
        .replace(/^[^:]*:/, ""),
      "latin1",
    );
    return [...grants].find(({ token }) => given.length === token.length && timingSafeEqual(given, token)) ?? null;
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => client.destroy());
    const grant = grantOf(request);
    if (grant === null) return refuse(client, 407, "This command has no network access.", networkHint);
    const host =
      /^([^:[\]]+|\[[0-9a-f:.]+\]):\d{1,5}$/i
        .exec(request.url ?? "")?.[1]
        ?.toLowerCase()
        .replace(/\.$/, "") ?? "";
    const port = (request.url ?? "").split(":").at(-1) ?? "";
    const no = (status: number, message: string, next: readonly string[]) => {
      grant.tell({ host, allowed: false, bytes: 0, reason: message });
      refuse(client, status, message, next);
    };
    if (host === "") return no(400, "The address is ambiguous.", []);
    const judged = deps.judge(`https://${host}${port === "443" ? "" : `:${port}`}/`, grant.hosts);
    if (judged.verdict !== "allow") return no(403, judged.rule.message, judged.alternatives);
    if (grant.open.size >= limits.connections)
      return no(429, `The limit is ${limits.connections} concurrent connections per command.`, ["Use fewer connections at the same time."]);

    grant.open.add(client);
    try {
      const upstream = await openUpstream(host, lookup, limits.connectMs).catch((error: unknown) => {
        if (error instanceof LancelotError) no(403, error.message, []);
        else no(502, `${host} cannot be reached.`, ["Try again later."]);
        return null;
      });
      if (upstream === null) return;
      if (!grants.has(grant)) return void upstream.destroy();
      grant.open.add(upstream);
      upstream.on("error", () => client.destroy());
      client.on("close", () => upstream.destroy());
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      const greeted = await greeting(client, head, host, limits.helloMs);
      if ("refused" in greeted) {
        upstream.destroy();
        client.destroy();
        return grant.tell({ host, allowed: false, bytes: 0, reason: greeted.refused });
      }
      upstream.write(greeted.bytes);
      const bytes = greeted.bytes.length + (await join(client, upstream, limits));
      grant.open.delete(upstream);
      grant.tell({ host, allowed: true, bytes, reason: null });
    } finally {
      grant.open.delete(client);
    }
  }

  function listen(start: (server: Server, done: () => void) => void): Promise<Server> {
    // Loaded on use: importing node:http evaluates all its exports, including Node's own undici (15 ms of startup).
    const { createServer } = process.getBuiltinModule("node:http");
    const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) => {
      // Every method other than CONNECT is an unencrypted request.
      const grant = grantOf(request);
      const address = request.url ?? "";
      const host = URL.canParse(address) ? new URL(address).hostname : "";
      grant?.tell({ host, allowed: false, bytes: 0, reason: "The request was not encrypted." });
      const [status, text, next] =
        grant === null
          ? ([407, "This command has no network access.", networkHint] as const)
          : ([403, "Only https is allowed.", ["Use the https address."]] as const);
      response.writeHead(status, headers(status)).end(body(text, next));
    });
    server.maxConnections = 512;
    server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
      tunnel(request, client, head).catch((error: unknown) => {
        client.destroy();
        deps.log("a command's connection failed", error);
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
    // When this process is root, commands run as the workspace's owner, who must reach this folder. Access still requires the token.
    if (process.getuid?.() === 0) chmodSync(folder, 0o711);
    return folder;
  }

  return {
    async grant(onConnection, hosts) {
      const socketPath = joinPath(socketFolder(), "proxy.sock");
      await (onSocket ??= listen((server, done) =>
        server.listen(socketPath, () => {
          // In a container, the forwarder has its own user. The parent folder is private, and access still requires the token.
          chmodSync(socketPath, 0o666);
          done();
        }),
      ));
      const token = randomBytes(24).toString("hex");
      const grant: OpenGrant = {
        token: Buffer.from(token, "latin1"),
        open: new Set(),
        hosts: hosts ?? null,
        tell(connection) {
          deps.onConnection(connection);
          onConnection?.(connection);
        },
      };
      grants.add(grant);
      return {
        socketPath,
        proxyUrl: (address) => `http://command:${token}@${address}`,
        async loopbackPort() {
          const server = await (onLoopback ??= listen((one, done) => one.listen(0, "127.0.0.1", done)));
          return (server.address() as AddressInfo).port;
        },
        async revoke() {
          grants.delete(grant);
          for (const socket of grant.open) socket.destroy();
          // Reports the closed connections before the command's receipt is written.
          await new Promise((resolve) => setImmediate(resolve));
        },
      };
    },
    async close() {
      for (const { open } of grants) for (const socket of open) socket.destroy();
      grants.clear();
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

const networkHint = ["Request network access for the command."] as const;

/** Programs show the status text more often than the body, so both contain the message. */
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
