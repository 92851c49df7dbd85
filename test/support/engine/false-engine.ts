import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** A socket in an engine's place. */
export interface FalseEngine {
  readonly socket: string;
  close(): Promise<void>;
}

/** What is done with the answer to a request; given its first line. */
export type Lie = (request: string) => "pass" | "garbage" | "cut" | "silent";

async function listen(folder: string, serve: (client: Socket) => void): Promise<FalseEngine> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    open.add(client);
    client.on("error", () => {});
    client.on("close", () => open.delete(client));
    serve(client);
  });
  const socket = join(folder, `false-${Math.random().toString(36).slice(2, 8)}.sock`);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    socket,
    async close() {
      for (const client of open) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers every request with the same bytes. */
export const answering = (folder: string, answer: string): Promise<FalseEngine> =>
  listen(folder, (client) => client.on("data", () => void client.write(answer)));

/** Stands before a real engine and lies where it is told to, or asks it for something else than was asked. One request a connection is looked at: the first that the lie concerns. */
export const lyingBefore = (
  folder: string,
  real: string,
  lie: Lie,
  asked: (text: string) => string = (text) => text,
): Promise<FalseEngine> =>
  listen(folder, (client) => {
    const upstream = connect(real);
    let way: ReturnType<Lie> = "pass";
    upstream.on("error", () => client.destroy());
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
    client.on("data", (bytes) => {
      if (way === "pass") way = lie(bytes.toString("latin1").split("\r\n")[0] ?? "");
      // `asked` keeps the length.
      upstream.write(Buffer.from(asked(bytes.toString("latin1")), "latin1"));
    });
    upstream.on("data", (bytes) => {
      if (way === "pass") client.write(bytes);
      if (way === "garbage") {
        const head = bytes.toString("latin1");
        const upgraded = head.startsWith("HTTP/1.1 101")
          ? `${head.split("\r\n\r\n")[0] ?? ""}\r\n\r\n`
          : "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n";
        client.write(`${upgraded}${"<html>no engine lives here".padEnd(90, "!")}`);
      }
      if (way === "cut") {
        client.destroy();
        upstream.destroy();
      }
    });
  });
