// What tests of the operating system's sandbox need of the machine: bubblewrap and socat, and what they try it with.
// Runs on Node 20 with nothing installed.
import { chmodSync, existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./project.mjs";
import { run, SetupError, say } from "./say.mjs";

const programs = { bwrap: "bubblewrap", socat: "socat", openssl: "openssl", curl: "curl", python3: "python3", git: "git" };

function missingPackages() {
  const folders = `${process.env.PATH ?? ""}:/usr/sbin:/sbin`.split(":");
  return Object.entries(programs)
    .filter(([name]) => !folders.some((folder) => existsSync(join(folder, name))))
    .map(([, name]) => name);
}

/**
 * Installs what is missing where it can: as root on Debian and its like.
 * @throws SetupError that says what to install
 */
export async function ensureOsSandbox() {
  const packages = missingPackages();
  if (packages.length === 0) return;
  const failure = `Tests of the sandbox need ${packages.join(", ")} (Debian: apt-get install ${packages.join(" ")}).`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) throw new SetupError(failure);
  say(`Installing ${packages.join(", ")}…`);
  const apt = ["-o", "DPkg::Lock::Timeout=300"];
  const quiet = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, quiet: true, failure };
  await run("apt-get", [...apt, "update", "-qq"], quiet);
  await run("apt-get", [...apt, "install", "-y", "-qq", "--no-install-recommends", ...packages], quiet);
}

/**
 * Lets other users get to this checkout, so that tests can run as one of them. In CI alone: the machine is thrown away.
 * @throws SetupError where they cannot and it is not CI
 */
export function openToOthers() {
  for (let at = root; ; at = dirname(at)) {
    const { mode, uid } = statSync(at);
    if ((mode & 0o001) === 0) {
      if (process.env.CI !== "true" || uid !== process.getuid?.())
        throw new SetupError(
          `Other users cannot get to ${at}, so the tests cannot run as one. Allow it (chmod o+rx), or run them as yourself.`,
        );
      chmodSync(at, (mode & 0o7777) | 0o005);
    }
    if (dirname(at) === at) return;
  }
}
