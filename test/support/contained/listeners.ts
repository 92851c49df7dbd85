import { createSocket } from "node:dgram";
import { readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { World } from "./world.ts";

/** Real sockets of the machine that nothing in a sandbox may reach. */
export interface Listeners {
  readonly port: number;
  /** Name of the abstract socket, without its leading NUL. */
  readonly abstract: string;
  /** Connections, datagrams and echo requests so far, by the way they came. */
  reached(): string[];
  close(): Promise<void>;
}

/** Listens on every address by TCP and UDP, on socket files beside and in the workspace, and on an abstract socket. */
export async function openListeners(world: World): Promise<Listeners> {
  const reached: string[] = [];
  const servers: Server[] = [];
  const listen = async (what: string, start: (server: Server) => void): Promise<Server> => {
    const server = createServer((socket) => {
      reached.push(what);
      socket.on("error", () => undefined);
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.once("listening", resolve);
      start(server);
    });
    return server;
  };
  const tcp = await listen("tcp", (server) => server.listen(0, "::"));
  const { port } = tcp.address() as { port: number };
  const udp = createSocket({ type: "udp6" });
  udp.on("message", () => void reached.push("udp"));
  await new Promise<void>((resolve) => udp.bind(port, "::", resolve));
  const abstract = `lancelot-${port}`;
  const files = [join(world.outside, "host.sock"), join(world.home, "agent.sock"), join(world.trap, "host.sock")];
  for (const file of files) await listen(file, (server) => server.listen({ path: file, writableAll: true, readableAll: true }));
  await listen("abstract socket", (server) => server.listen(`\0${abstract}`));
  const echoes = echoRequests();
  return {
    port,
    abstract,
    reached: () => [...reached, ...(echoRequests() > echoes ? ["echo request"] : [])],
    async close() {
      for (const server of servers) await new Promise((resolve) => server.close(resolve));
      await new Promise<void>((resolve) => udp.close(resolve));
      for (const file of files) rmSync(file, { force: true });
    },
  };
}

/** Echo requests that this machine received since it started. */
function echoRequests(): number {
  const [names = "", values = ""] = readFileSync("/proc/net/snmp", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("Icmp:"));
  return Number(values.split(" ")[names.split(" ").indexOf("InEchos")] ?? 0);
}
