import { execFileSync, spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ownerEnv } from "./git-fixture.ts";

export interface GitServer {
  /** Where its repositories are: `${url}/name.git`. */
  readonly url: string;
  /** Every request it got: method, path, and who asked. */
  readonly requests: { method: string; path: string; user: string | null }[];
  close(): Promise<void>;
}

export interface GitServerOptions {
  /** Folder with bare repositories. */
  readonly root: string;
  readonly home: string;
  /** `name:password` that is asked for. */
  readonly credentials?: string;
  /** Answers every request by sending on to there. */
  readonly redirect?: string;
  /** Answers nothing once data is asked for. */
  readonly silent?: boolean;
}

/** A real git server over HTTP: git's own `http-backend` behind a small CGI gateway, on a free port of this machine. */
export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const requests: GitServer["requests"] = [];
  const backend = join(execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim(), "git-http-backend");
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const given = /^Basic (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const user = given === undefined ? null : Buffer.from(given, "base64").toString("utf8");
    requests.push({ method: request.method ?? "", path: url.pathname, user: user?.split(":")[0] ?? null });
    if (options.redirect !== undefined) {
      response.writeHead(302, { location: `${options.redirect}${url.pathname}${url.search}` }).end();
    } else if (options.credentials !== undefined && user !== options.credentials) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    } else if (options.silent !== true) serve(request, response, url);
  });

  function serve(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const child = spawn(backend, [], {
      env: {
        ...ownerEnv(options.home),
        GIT_PROJECT_ROOT: options.root,
        GIT_HTTP_EXPORT_ALL: "1",
        REQUEST_METHOD: request.method,
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        REMOTE_USER: "tester",
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.stdin.on("error", () => undefined);
    request.pipe(child.stdin);
    let head: Buffer | null = Buffer.alloc(0);
    child.stdout.on("data", (chunk: Buffer) => {
      if (head === null) return void response.write(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      for (const line of head.subarray(0, end).toString("utf8").split("\r\n")) {
        const [name = "", value = ""] = line.split(/: (.*)/s);
        if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.write(head.subarray(end + 4));
      head = null;
    });
    child.stdout.on("end", () => response.end());
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
