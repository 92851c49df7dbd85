import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
// A namespace import, because old Node versions lack the export and would fail before the version check below.
import * as nodeModule from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const oldestNode = 22;

/** The Node that the project installs for machines whose own is too old; null when it is missing. */
function installedNode(): string | null {
  const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
  const node = join(root, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");
  return existsSync(node) ? node : null;
}

if (Number(process.versions.node.split(".")[0]) < oldestNode) {
  const node = installedNode();
  if (node === null) {
    process.stderr.write(
      `Lancelot requires Node ${oldestNode} or newer, but this is ${process.version}. Run npm install in its folder, or install a newer Node.\n`,
    );
    process.exitCode = 2;
  } else {
    const run = spawnSync(node, process.argv.slice(1), { stdio: "inherit" });
    process.exitCode = run.status ?? 1;
  }
} else {
  nodeModule.enableCompileCache();
  await import("./interpret-schemas.ts");
  const { runCli } = await import("./terminal/terminal.ts");
  process.exitCode = await runCli(process.argv.slice(2));
}
