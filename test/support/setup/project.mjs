// Makes a checkout ready: packages from the lockfile, Node 24, a build. Runs on Node 20 with nothing installed.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { has, run, SetupError, say } from "./say.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".lancelot-lock");

/** Where large things that are not part of the checkout are kept, by version. */
export function cacheDir() {
  return process.env.LANCELOT_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "lancelot");
}

/** Path of the Node that the project pins. */
export function projectNode() {
  return join(modules, "node/bin", process.platform === "win32" ? "node.exe" : "node");
}

/** Where Node keeps what it compiled of the sources and tests. */
export const compileCache = join(tmpdir(), "lancelot-test-compile-cache");

/** The environment for programs of the project: its own Node first on the path. */
export function projectEnv(extra = {}) {
  const separator = process.platform === "win32" ? ";" : ":";
  return { ...process.env, PATH: [join(modules, "node/bin"), join(modules, ".bin"), process.env.PATH].join(separator), ...extra };
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

/** Installs from the lockfile when packages are missing or belong to another lockfile. */
export async function ensurePackages() {
  if (!(await has("git")))
    throw new SetupError(
      "git is missing: install it (Debian: apt-get install git; macOS: xcode-select --install; Windows: winget install Git.Git).",
    );
  const wanted = lockHash();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted && existsSync(projectNode())) return;
  if (!(await has("npm"))) throw new SetupError("npm is missing: install it together with Node (https://nodejs.org).");
  say("Installing packages from the lockfile (about a minute)…");
  await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    failure: "Packages could not be installed. Check the network and the npm registry (npm ping), then try again.",
  });
  if (!existsSync(projectNode()))
    throw new SetupError(
      "The npm package `node` did not install Node 24 (its install script was blocked). Allow it: npm install-scripts approve node, then npm ci.",
    );
  writeFileSync(stamp, wanted);
}

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    latest = Math.max(latest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs);
  }
  return latest;
}

/** Builds dist/ when a source is newer than it. */
export async function ensureBuild({ force = false } = {}) {
  const report = join(root, "dist/size-report.json");
  const sources = Math.max(
    ...["agent-server", "extension", "webviews"].map((folder) => newest(join(root, folder))),
    ...["esbuild.mjs", "esbuild-ascii.mjs", "package.json", "package-lock.json"].map((file) => statSync(join(root, file)).mtimeMs),
  );
  if (!force && existsSync(report) && statSync(report).mtimeMs > sources) return;
  say("Building…");
  await run(projectNode(), ["esbuild.mjs", "--production"], { cwd: root, failure: "The build failed; what is wrong is named below." });
}

/** Packs the extension when the build is newer than the last VSIX. @returns the path of the VSIX */
export async function ensureVsix() {
  const file = join(root, "dist/lancelot.vsix");
  const fresh = existsSync(file) && statSync(file).mtimeMs > statSync(join(root, "dist/size-report.json")).mtimeMs;
  if (!fresh) {
    say("Packing the extension…");
    await run(
      projectNode(),
      [
        join(modules, "@vscode/vsce/vsce"),
        "package",
        "--no-dependencies",
        "--allow-missing-repository",
        "--no-rewrite-relative-links",
        "--skip-license",
        "--out",
        file,
      ],
      {
        cwd: root,
        env: projectEnv(),
        quiet: true,
        failure: "The extension could not be packed.",
      },
    );
  }
  return file;
}
