import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as z from "zod";

export interface Asked {
  method: string;
  path: string;
  range: string | undefined;
}

export interface FileServer {
  url: string;
  asked: Asked[];
  files: Map<string, Buffer>;
  /** Answers instead of the server where it returns true. */
  fault: ((request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean) | undefined;
  ranges: boolean;
  close(): Promise<void>;
}

/** A server of files with ranges and etags, and with faults where a test wants them. */
export async function startFileServer(): Promise<FileServer> {
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    files.asked.push({ method: request.method ?? "", path, range: request.headers.range });
    const body = files.files.get(path);
    if (body === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (files.fault?.(request, response, body) === true) return;
    serve(request, response, body, files.ranges);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const files: FileServer = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    files: new Map(),
    fault: undefined,
    ranges: true,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return files;
}

function serve(request: IncomingMessage, response: ServerResponse, body: Buffer, ranges: boolean): void {
  const etag = `"${body.length}-${body.subarray(0, 8).toString("hex")}"`;
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? Number.NaN);
  const current = request.headers["if-range"] === undefined || request.headers["if-range"] === etag;
  if (ranges && Number.isInteger(from) && current) {
    if (from >= body.length) {
      response.writeHead(416).end();
      return;
    }
    response.writeHead(206, {
      etag,
      "content-length": body.length - from,
      "content-range": `bytes ${from}-${body.length - 1}/${body.length}`,
    });
    response.end(body.subarray(from));
    return;
  }
  response.writeHead(200, { etag, "content-length": body.length });
  response.end(request.method === "HEAD" ? undefined : body);
}
