import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:https";

export interface TlsServer {
  readonly server: Server;
  readonly port: number;
  /** The certificate, as a file: programs in a test trust it by name. */
  readonly certificate: string;
  /** `METHOD path (server name asked for)` of each request. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** An https server for the named hosts with a certificate made now, on an address of loopback. */
export async function startTlsServer(hosts: readonly string[], address: string, port = 0): Promise<TlsServer> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-tls-"));
  const key = join(folder, "key.pem");
  const certificate = join(folder, "certificate.pem");
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-keyout",
      key,
      "-out",
      certificate,
    ].concat(["-subj", `/CN=${hosts[0] ?? "test"}`, "-addext", `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(",")}`]),
    { stdio: "ignore" },
  );
  const requests: string[] = [];
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
    const name = "servername" in request.socket ? String(request.socket.servername) : "";
    requests.push(`${request.method} ${request.url} (${name})`);
    if (request.url === "/endless") {
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", send);
      send();
      return;
    }
    if (request.url === "/hanging") return;
    request.on("data", () => {}).on("end", () => response.end(`hello from ${name}\n`));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    certificate,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
