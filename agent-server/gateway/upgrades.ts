import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ServerType } from "@hono/node-server";
import { type WebSocket, WebSocketServer } from "ws";

export interface UpgradeOptions {
  /** Status and path of a refusal; null when the request may become a WebSocket. Must not throw. */
  refusal(request: IncomingMessage): 401 | 403 | 404 | null;
  /** Bytes. */
  maxMessageBytes: number;
  attach(client: WebSocket): void;
}

/**
 * Accepts WebSocket upgrades. An error of a socket, or a fault of one upgrade, closes that socket only: Node removes its own error
 * listener from a socket when it hands the socket over, and an error without a listener ends the process.
 */
export function serveUpgrades(server: ServerType, options: UpgradeOptions): WebSocketServer {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: options.maxMessageBytes });
  server.on("connection", (socket: Duplex) => socket.on("error", () => socket.destroy()));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    try {
      const refused = options.refusal(request);
      if (refused === null) sockets.handleUpgrade(request, socket, head, options.attach);
      else refuse(socket, refused);
    } catch {
      refuse(socket, 400);
    }
  });
  return sockets;
}

/** Answers and closes both sides, because the client may never close its own. */
function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}
