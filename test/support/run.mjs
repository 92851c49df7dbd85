// `node test/support/run.mjs SCRIPT [ARGUMENTS]`: runs a script or a program of the project on the project's own Node, after installing
// the packages of the lockfile where they are missing. With `--build` first, dist/ is brought up to date too.
import "./setup/node-version.mjs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureBuild, ensurePackages, projectEnv, projectNode, root } from "./setup/project.mjs";
import { SetupError, say } from "./setup/say.mjs";

const args = process.argv.slice(2);
const build = args[0] === "--build";
if (build) args.shift();
const [program, ...rest] = args;
try {
  await ensurePackages();
  if (build) await ensureBuild();
  const isScript = /\.m?[jt]s$/.test(program);
  const child = spawn(isScript ? projectNode() : program, isScript ? [join(root, program), ...rest] : rest, {
    cwd: root,
    env: projectEnv(),
    stdio: "inherit",
    // Programs of packages are .cmd files there.
    shell: process.platform === "win32" && !isScript,
  });
  process.on("SIGINT", () => {}); // The child gets it too, and decides.
  child.on("error", (error) => {
    say(`${program} could not be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("close", (code, signal) => (process.exitCode = signal === "SIGINT" ? 130 : (code ?? 1)));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
