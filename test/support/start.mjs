// `npm start`: the main job. Without a task, Lancelot in an editor on a copy of the sample project; with one, in the terminal.
import "./setup/node-version.mjs";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeServerCommand, ensureCodeServer } from "./setup/code-server.mjs";
import { cacheDir, ensureBuild, ensurePackages, ensureVsix, projectEnv, projectNode, root } from "./setup/project.mjs";
import { has, run, SetupError, say } from "./setup/say.mjs";

/** A copy of the shipped sample project, as a git repository, so that nothing of the checkout is changed. */
async function sampleCopy() {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-sample-"));
  cpSync(join(root, "media/sample"), folder, { recursive: true });
  const git = (...args) =>
    run("git", ["-c", "user.name=Lancelot sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false", ...args], {
      cwd: folder,
      quiet: true,
    });
  await git("init", "-q", "-b", "main");
  await git("add", "-A");
  await git("commit", "-q", "-m", "Sample project");
  return folder;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function terminal(args) {
  const workspace = args.includes("--workspace") ? [] : ["--workspace", await sampleCopy()];
  if (workspace.length > 0) say(`Working on a copy of the sample project: ${workspace[1]}`);
  const child = spawn(projectNode(), [join(root, "dist/host/cli.js"), "chat", ...args, ...workspace], {
    stdio: "inherit",
    env: projectEnv(),
  });
  process.on("SIGINT", () => {}); // the child asks for it itself
  return new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ? 130 : (code ?? 1))));
}

async function editor(workspace) {
  if (await has("code")) {
    say(`Opening VS Code on ${workspace}`);
    await run("code", ["--new-window", `--extensionDevelopmentPath=${root}`, workspace], { quiet: true });
    say("Lancelot is the shield in the activity bar.");
    return 0;
  }
  const installed = await ensureCodeServer();
  const vsix = await ensureVsix();
  const home = join(cacheDir(), "workbench");
  const port = Number(process.env.LANCELOT_PORT ?? (await freePort()));
  const { args, env } = codeServerCommand(installed, {
    port,
    userData: join(home, "user"),
    extensions: join(home, "extensions"),
    home,
    workspace,
  });
  await run(installed.node, [...args.slice(0, -1), "--install-extension", vsix, "--force"], {
    env: { ...process.env, ...env },
    quiet: true,
    failure: "The extension could not be installed in the workbench.",
  });
  const child = spawn(installed.node, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output = (output + chunk).slice(-4000)));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill("SIGTERM"));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new SetupError(`The workbench ended at once:\n${output}`);
    const up = await fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (up) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  process.stdout.write(`Lancelot is open at ${url}/?folder=${encodeURIComponent(workspace)}\n`);
  say("Open that address in a browser; Lancelot is the shield in the activity bar. Ctrl+C ends it.");
  return new Promise((resolve) => child.on("close", (code) => resolve(code === null ? 0 : code)));
}

try {
  const args = process.argv.slice(2);
  await ensurePackages();
  await ensureBuild();
  const task = args.find(
    (arg, index) => !arg.startsWith("--") && !["--workspace", "--data", "--yes-tier", "--quest"].includes(args[index - 1] ?? ""),
  );
  const named = args.indexOf("--workspace");
  process.exitCode = task !== undefined ? await terminal(args) : await editor(named >= 0 ? (args[named + 1] ?? ".") : await sampleCopy());
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
