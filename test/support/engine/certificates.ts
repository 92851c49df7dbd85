import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../setup/say.mjs";

/** An authority of its own, a certificate for an engine on 127.0.0.1 and one for who may use it, in the files the docker CLI looks for. */
export async function makeCertificates(folder: string): Promise<{ server: string; client: string }> {
  const server = join(folder, "server");
  const client = join(folder, "client");
  for (const path of [server, client]) mkdirSync(path, { recursive: true });
  const openssl = (...args: string[]) => run("openssl", args, { quiet: true, cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl("req", "-x509", ...key, "-days", "2", "-subj", "/CN=lancelot tests", "-keyout", "ca-key.pem", "-out", "ca.pem");
  for (const [path, use] of [
    [server, "serverAuth"],
    [client, "clientAuth"],
  ] as const) {
    writeFileSync(join(path, "use.cnf"), `subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=${use}\n`);
    await openssl("req", ...key, "-subj", "/CN=127.0.0.1", "-keyout", join(path, "key.pem"), "-out", join(path, "request.pem"));
    await openssl(
      ...["x509", "-req", "-in", join(path, "request.pem"), "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "2"],
      ...["-extfile", join(path, "use.cnf"), "-out", join(path, "cert.pem")],
    );
    await run("cp", [join(folder, "ca.pem"), join(path, "ca.pem")], { quiet: true });
  }
  return { server, client };
}
