import { type AddressInfo, createServer, type Socket } from "node:net";
import { LancelotError } from "../../contract/errors.ts";

/** Each connection has a process of its own. */
const maxConnections = 64;

/** A port of a sandbox on this machine. */
export interface PortPreview {
  readonly url: string;
  close(): void;
}

/**
 * Listens on the loopback interface only, at a port that the system chooses, and passes each connection on as it is.
 * @throws LancelotError `unavailable`.
 */
export async function createPortPreview(forward: (client: Socket) => void): Promise<PortPreview> {
  const clients = new Set<Socket>();
  // A server answers half-closed connections too.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    client.on("error", () => client.destroy());
    forward(client);
  });
  server.maxConnections = maxConnections;
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new LancelotError("unavailable", "No port could be opened on this machine.", { cause: error })));
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
}
