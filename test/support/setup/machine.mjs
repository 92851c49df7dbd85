// What tests need of the machine beyond Node, npm and git, by Debian package, and what cannot be tried without it.
// Runs on Node 20 with nothing installed.
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { findChromium } from "./chromium.mjs";
import { has, run, SetupError, say } from "./say.mjs";

/** The PATH with the folders of system programs, which an ordinary user's PATH does not have. */
export const systemPath = [process.env.PATH ?? "", ...(process.platform === "win32" ? [] : ["/usr/sbin", "/sbin"])].join(delimiter);

/** Path of a program, or of a file that a package brings; undefined where there is none. */
export const locate = (name) =>
  isAbsolute(name)
    ? [name].find(existsSync)
    : systemPath
        .split(delimiter)
        .map((folder) => join(folder, name))
        .find((path) => existsSync(path));

/** The programs and files that each part needs, with the Debian package of each. */
const parts = {
  repositories: { git: "git" },
  // Chromium draws no text without a font, and Debian's package only recommends one.
  browser: { chromium: "chromium fonts-dejavu-core" },
  workbench: { "g++": "g++", make: "make", python3: "python3" },
  sandbox: { bwrap: "bubblewrap", socat: "socat", openssl: "openssl", curl: "curl", python3: "python3" },
  engine: { dockerd: "docker.io", "docker-init": "tini", runc: "runc", busybox: "busybox-static", openssl: "openssl" },
  podman: { podman: "podman", "/usr/libexec/podman/catatonit": "catatonit", runc: "runc" },
  ssh: { sshd: "openssh-server", ssh: "openssh-client" },
};

/** What each part is, for the reader of a message. */
const titles = {
  repositories: "git repositories",
  browser: "views and the editor in a browser",
  workbench: "the browser workbench",
  sandbox: "the sandbox of the operating system",
  engine: "the container engine",
  podman: "Podman",
  ssh: "container engines over ssh",
};

/** @typedef {keyof typeof parts} Part */

const linuxOnly = new Set(["sandbox", "engine", "podman", "ssh"]);
const rootOnly = new Set(["engine", "podman", "ssh"]);

const packagesWithout = (part) =>
  Object.entries(parts[part])
    .filter(([name]) => (name === "chromium" ? findChromium() === null : locate(name) === undefined))
    .flatMap(([, packages]) => packages.split(" "));

const installCommand = (packages) => `apt-get install -y --no-install-recommends ${packages.join(" ")}`;

/**
 * Why a part cannot be tried on this machine; null when it can.
 * @param {Part} part
 * @returns {string | null}
 */
export function whyWithout(part) {
  if (linuxOnly.has(part) && process.platform !== "linux") return `Tests of ${titles[part]} run on Linux only.`;
  if (rootOnly.has(part) && process.getuid?.() !== 0) return `Tests of ${titles[part]} need root.`;
  const packages = packagesWithout(part);
  if (packages.length === 0) return null;
  return `Missing for ${titles[part]}: ${packages.join(", ")} (Debian: ${installCommand(packages)}).`;
}

/**
 * As {@link whyWithout}, for a test to skip itself by. In CI nothing is skipped: what is missing fails.
 * @param {Part} part
 * @returns {string | null}
 */
export const skippedWithout = (part) => (process.env.CI === "true" ? null : whyWithout(part));

/** Parts that cannot be tried here, each with its reason. @returns {{ part: Part, reason: string }[]} */
export const missingParts = () =>
  Object.keys(parts).flatMap((part) => {
    const reason = whyWithout(part);
    return reason === null ? [] : [{ part, reason }];
  });

/**
 * Installs every missing package at once: as root where there is apt-get. Elsewhere it names one command for all of them.
 * @throws SetupError in CI when the packages cannot be installed
 */
export async function ensureMachine() {
  if (process.platform !== "linux") return;
  const missing = new Set(Object.keys(parts).flatMap(packagesWithout));
  if (missing.size === 0) return;
  const packages = [...missing];
  const failure = `Some tests need more of this machine: ${installCommand(packages)}`;
  if (process.getuid?.() !== 0 || !(await has("apt-get", ["--version"]))) return say(failure);
  say(`Installing ${packages.join(", ")}…`);
  const quiet = { env: { ...process.env, PATH: systemPath, DEBIAN_FRONTEND: "noninteractive" }, quiet: true, failure };
  const apt = ["-o", "DPkg::Lock::Timeout=300"];
  try {
    await run("apt-get", [...apt, "update", "-qq"], quiet);
    await run("apt-get", [...apt, "install", "-y", "-qq", "--no-install-recommends", ...packages], quiet);
  } catch (error) {
    if (process.env.CI === "true" || !(error instanceof SetupError)) throw error;
    say(error.message);
  }
}
