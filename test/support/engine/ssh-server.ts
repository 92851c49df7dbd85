import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { until } from "../sandbox/run.ts";
import { run } from "../setup/say.mjs";
import { freePort } from "../free-port.ts";

/** An ssh server on loopback that lets in one key, and an environment in which `ssh` has that key. */
export interface SshServer {
  readonly port: number;
  /** Its own `ssh` first on the PATH: ssh takes keys and known hosts from the account, not from the environment. */
  readonly env: Record<string, string>;
  /** Processes of connections that are open. */
  connections(): Promise<number>;
  close(): void;
}

export async function startSshServer(): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-sshd-"));
  const keygen = (name: string) => run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)], { quiet: true });
  await Promise.all([keygen("host"), keygen("key")]);
  await run("cp", [join(folder, "key.pub"), join(folder, "authorized")], { quiet: true });
  mkdirSync("/run/sshd", { recursive: true });
  const port = await freePort();
  const settings = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "authorized")}`,
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "PermitRootLogin yes",
    "PidFile none",
  ];
  writeFileSync(join(folder, "sshd_config"), `${settings.join("\n")}\n`);
  const child = spawn("/usr/sbin/sshd", ["-D", "-f", join(folder, "sshd_config"), "-E", join(folder, "log")], { stdio: "ignore" });
  const scanned = await until("the ssh server answers", () =>
    run("ssh-keyscan", ["-p", String(port), "-t", "ed25519", "127.0.0.1"], { quiet: true }).then(
      (text: string) => (text.includes("ssh-ed25519") ? text : null),
      () => null,
    ),
  );
  writeFileSync(
    join(folder, "known"),
    scanned
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .join("\n"),
  );
  writeFileSync(
    join(folder, "ssh_config"),
    `Host *\n  IdentityFile ${join(folder, "key")}\n  UserKnownHostsFile ${join(folder, "known")}\n`,
  );
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/ssh"), `#!/bin/sh\nexec /usr/bin/ssh -F ${join(folder, "ssh_config")} "$@"\n`);
  chmodSync(join(folder, "bin/ssh"), 0o755);
  return {
    port,
    env: { PATH: [join(folder, "bin"), process.env["PATH"] ?? ""].join(delimiter), HOME: process.env["HOME"] ?? "/" },
    connections: async () =>
      (await run("sh", ["-c", `ps -eo args | grep -c '^/usr/bin/ssh -F ${folder}' || true`], { quiet: true })).trim() === "0" ? 0 : 1,
    close() {
      child.kill("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
