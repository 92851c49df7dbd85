import { chmodSync, copyFileSync, mkdirSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeTemporaryFolder } from "../temporary-folder.ts";

/** Files of /etc that programs need to start, verify certificates and read time zones; none with accounts or keys. */
const files = [
  "debian_version",
  "ld.so.cache",
  "ld.so.conf",
  "localtime",
  "magic",
  "mime.types",
  "os-release",
  "pki/tls/cert.pem",
  "protocols",
  "services",
  "ssl/cert.pem",
  "ssl/openssl.cnf",
  "timezone",
];
const folders = ["alternatives", "ca-certificates", "crypto-policies", "fonts", "pki/ca-trust", "pki/tls/certs", "ssl/certs"];
/** Settings of language runtimes, whose programs link to them. */
const languages = /^(?:(?:dotnet|maven|perl|php|python|ruby)[-\d.]*|java[-.\w]*)$/;

/** The /etc folder of commands. */
export interface SystemFiles {
  /** Readable by all users, because commands may run as another user. */
  readonly folder: string;
  /** Paths of the system's /etc that are mounted into it under the same names. */
  readonly mounted: readonly string[];
}

/**
 * Creates the /etc folder of commands: copies of small public files, mount points for system folders, and a user database that contains
 * only the
 * command's user. One folder, because every mount takes time.
 * @param gitSettings the text of its git configuration
 */
export function makeSystemFiles(uid: number, gid: number, gitSettings: string): SystemFiles {
  const folder = makeTemporaryFolder("etc");
  for (const name of files) {
    try {
      const source = realpathSync(join("/etc", name));
      const stats = statSync(source);
      if (!stats.isFile() || (stats.mode & 0o004) === 0) continue;
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      copyFileSync(source, join(folder, name));
    } catch {
      // The file does not exist.
    }
  }
  const mounted = [...folders, ...readdirSync("/etc").filter((one) => languages.test(one))].filter((name) => {
    const stats = statSync(join("/etc", name), { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return false;
    mkdirSync(join(folder, name), { recursive: true });
    return true;
  });
  const own = {
    passwd: `lancelot:x:${uid}:${gid}::/tmp/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
    group: `lancelot:x:${gid}:\nnogroup:x:65534:\n`,
    gitconfig: gitSettings,
    hosts: "127.0.0.1 localhost lancelot\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
  };
  for (const [name, contents] of Object.entries(own)) writeFileSync(join(folder, name), contents);
  chmodSync(folder, 0o755);
  return { folder, mounted };
}
