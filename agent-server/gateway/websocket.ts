import type { WebSocket } from "ws";
import type { EventHub } from "./events.ts";

const pingMs = 30_000;
/** A client this far behind (bytes) is cut off; it reconnects and takes a new snapshot. */
const maxBacklogBytes = 8 * 1024 * 1024;

/** Sends every event to a WebSocket as one JSON text message, until it closes or falls too far behind. */
export function attachEvents(client: WebSocket, events: EventHub): void {
  let answered = true;
  const stop = events.listen((event) => {
    if (client.bufferedAmount > maxBacklogBytes) client.close(1013, "too far behind; reconnect");
    else client.send(JSON.stringify(event));
  });
  const timer = setInterval(() => {
    if (!answered) client.terminate();
    answered = false;
    client.ping();
  }, pingMs);
  timer.unref();
  client.on("pong", () => {
    answered = true;
  });
  client.on("error", () => client.terminate());
  client.on("close", () => {
    clearInterval(timer);
    stop();
  });
}
