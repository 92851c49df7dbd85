import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buildConnector } from "undici";
import { createPageFetch, type PageFetch } from "../../../agent-server/security/security.ts";

const folder = join(import.meta.dirname, "../../fixtures/tls");
const certificate = readFileSync(join(folder, "certificate.pem"));

export interface SeenRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void;

/** A small web of its own: every `*.example.org` is one https server of this machine. */
export interface Web {
  /** The real gate; only where a name leads is another. */
  readonly fetch: PageFetch;
  readonly requests: SeenRequest[];
  /** What `host/path` answers from now on. */
  serve(address: string, answer: Answer | string, type?: string): void;
  close(): Promise<void>;
}

export async function openWeb(): Promise<Web> {
  const answers = new Map<string, Answer>();
  const requests: SeenRequest[] = [];
  const server = createServer({ cert: certificate, key: readFileSync(join(folder, "key.pem")) }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { host = "" } = request.headers;
      const path = request.url ?? "/";
      const seen = { host, method: request.method ?? "", path, headers: request.headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(seen);
      const answer = answers.get(`${host}${path}`) ?? answers.get(`${host}${path.replace(/\?.*$/, "")}`);
      if (answer !== undefined) return answer(seen, response);
      response.writeHead(404, { "content-type": "text/plain" }).end("nothing here");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connect = buildConnector({ ca: [certificate.toString("utf8")], timeout: 5_000 });
  const connector: buildConnector.connector = (options, done) =>
    connect(
      { ...options, hostname: "127.0.0.1", host: "127.0.0.1", port: String(port), servername: options.servername ?? options.hostname },
      done,
    );
  return {
    fetch: createPageFetch({ env: {}, connector }),
    requests,
    serve(address, answer, type = "text/html; charset=utf-8") {
      answers.set(
        address,
        typeof answer === "string" ? (_, response) => void response.writeHead(200, { "content-type": type }).end(answer) : answer,
      );
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function redirect(location: string, status = 302): Answer {
  return (_, response) => void response.writeHead(status, { location }).end();
}
