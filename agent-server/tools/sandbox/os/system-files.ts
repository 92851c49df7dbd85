import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeTemporaryFolder } from "../temporary-folder.ts";

/** What of /etc programs need to start, to check certificates and to know time zones; nothing that holds accounts or keys. */
const taken = [
  "alternatives",
  "ca-certificates",
  "crypto-policies",
  "debian_version",
  "fonts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "magic",
  "mime.types",
  "os-release",
  "pki/ca-trust",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "protocols",
  "services",
  "ssl/cert.pem",
  "ssl/certs",
  "ssl/openssl.cnf",
  "timezone",
];
/** Settings of languages, which their programs lead to by links. */
const languages = /^(?:dotnet|java|maven|perl|php|python|ruby)[-\d.]*$/;

/**
 * Makes the /etc that commands see: copies of what everybody may read of the system's, and files of names in which there is nobody but
 * the command. One folder, because every mount costs time.
 * @returns its path; readable by everybody, because commands may run as somebody else.
 */
export function makeSystemFiles(uid: number, gid: number): string {
  const folder = makeTemporaryFolder("etc");
  const everybody = (path: string) => {
    const stats = lstatSync(path);
    return stats.isSymbolicLink() || ((stats.isFile() || stats.isDirectory()) && (stats.mode & 0o004) !== 0);
  };
  for (const name of [...taken, ...readdirSync("/etc").filter((one) => languages.test(one))]) {
    try {
      const source = realpathSync(join("/etc", name));
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      cpSync(source, join(folder, name), { recursive: true, verbatimSymlinks: true, filter: everybody });
    } catch {
      // It is not there, or not for everybody.
    }
  }
  const own = {
    passwd: `lancelot:x:${uid}:${gid}::/tmp/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
    group: `lancelot:x:${gid}:\nnogroup:x:65534:\n`,
    hosts: "127.0.0.1 localhost lancelot\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
  };
  for (const [name, contents] of Object.entries(own)) writeFileSync(join(folder, name), contents);
  chmodSync(folder, 0o755);
  return folder;
}
