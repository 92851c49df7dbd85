import { connect, createServer, type Socket } from "node:net";

/** An address of an engine as one of another machine has, so that nothing of this machine is expected to be there. */
export interface RemoteEngine {
  readonly address: string;
  /** Ends all connections; new ones are refused until `connect`. */
  cut(): void;
  connect(): void;
  close(): Promise<void>;
}

/** Passes TCP connections on to an engine's socket. */
export async function startRemoteEngine(socket: string): Promise<RemoteEngine> {
  const open = new Set<Socket>();
  const state = { isCut: false };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (state.isCut) {
      client.destroy();
      return;
    }
    const engine = connect({ path: socket, allowHalfOpen: true });
    for (const [from, to] of [
      [client, engine],
      [engine, client],
    ] as const) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    // This machine under a name that is not its own.
    address: `tcp://0.0.0.0:${address.port}`,
    cut() {
      state.isCut = true;
      for (const each of open) each.destroy();
    },
    connect: () => void (state.isCut = false),
    async close() {
      for (const each of open) each.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
