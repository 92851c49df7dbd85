// Regenerates config/local-runtime.json: which packages make up the local model runtime, with their checksums and sizes.
// node test/support/make-local-runtime.mjs [version]    (needs npm and its registry)
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const version = process.argv[2] ?? "3.21.1";
/** The one build for each platform, by `process.platform`-`process.arch`; the CPU's, on Apple silicon Metal's. */
const builds = {
  "@node-llama-cpp/linux-x64": "linux-x64",
  "@node-llama-cpp/linux-arm64": "linux-arm64",
  "@node-llama-cpp/linux-armv7l": "linux-arm",
  "@node-llama-cpp/mac-arm64-metal": "darwin-arm64",
  "@node-llama-cpp/mac-x64": "darwin-x64",
  "@node-llama-cpp/win-x64": "win32-x64",
  "@node-llama-cpp/win-arm64": "win32-arm64",
};
const registry = (process.env.npm_config_registry ?? "https://registry.npmjs.org").replace(/\/$/, "");
const output = join(dirname(fileURLToPath(import.meta.url)), "../../config/local-runtime.json");

const folder = mkdtempSync(join(tmpdir(), "local-runtime-"));
try {
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "runtime", private: true, dependencies: { "node-llama-cpp": version } }),
  );
  execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
  const packages = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "") continue;
    const name = entry.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    // Optional packages are the builds: most of them for GPUs, some hundred MB each.
    if (entry.optional === true && builds[name] === undefined) continue;
    const tarball = `${registry}/${name}/-/${name.slice(name.indexOf("/") + 1)}-${entry.version}.tgz`;
    const response = await fetch(tarball, { method: "HEAD" });
    const bytes = Number(response.headers.get("content-length"));
    if (!response.ok || !(bytes > 0)) throw new Error(`${name}@${entry.version}: ${response.status}`);
    packages.push({
      path,
      name,
      version: entry.version,
      integrity: entry.integrity,
      bytes,
      ...(builds[name] && { platform: builds[name] }),
    });
  }
  // The source of llama.cpp, for building it on the spot: never done here.
  writeFileSync(output, `${JSON.stringify({ name: "node-llama-cpp", version, skip: ["llama/gitRelease.bundle"], packages }, null, 2)}\n`);
  console.log(`${packages.length} packages written to ${output}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
