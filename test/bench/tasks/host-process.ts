// A host process of its own for one task, reached over its gateway.
import { WebSocket } from "ws";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import type { OpenHost } from "./host-of-task.ts";
import { startServe } from "../../support/host/built-host.ts";

/** Of every host under test, which listens on this machine alone. */
const token = "owner-token-of-the-task-benchmark-0123456789";

export const openHostProcess: OpenHost = async ({ workspace, data, env }) => {
  const server = await startServe({
    workspace,
    data,
    env: { LANCELOT_OWNER_TOKEN: token, LANCELOT_RATE_LIMIT: "100000/60", ...env },
  });
  const authorization = `Bearer ${token}`;
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`, { headers: { authorization } });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));

  return {
    async call<Result>(method: string, params: unknown): Promise<Result> {
      const response = await fetch(`${server.url}/rpc`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const { result, error } = (await response.json()) as { result?: Result; error?: unknown };
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    },
    listen(onEvent, onEnd) {
      socket.on("message", (text: Buffer) => onEvent(JSON.parse(text.toString()) as HostEvent));
      socket.on("close", onEnd);
    },
    async close() {
      socket.removeAllListeners("close").close();
      await server.stop();
    },
  };
};
