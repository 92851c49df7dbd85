// The browser workbench: code-server from npm on Node 24 from npm, in the cache folder, outside node_modules.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheDir } from "./project.mjs";
import { has, run, SetupError, say } from "./say.mjs";

export const codeServerVersion = "4.139.1";
const nodeVersion = "24.21.0";

/** Paths of an installed workbench. */
function layout(folder) {
  const packages = join(folder, "node_modules");
  const nodePackage = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  return {
    folder,
    nodeHome: join(packages, nodePackage),
    nodePackage,
    node: join(packages, nodePackage, "bin/node"),
    entry: join(packages, "code-server/out/node/entry.js"),
    workbench: join(packages, "code-server/lib/vscode"),
  };
}

/**
 * Installs code-server once (about a minute, 800 MB) and returns where it is.
 * @throws SetupError that says what is missing
 */
export async function ensureCodeServer() {
  if (process.platform === "win32")
    throw new SetupError("The browser workbench does not run on Windows: install VS Code so that `code` is on the PATH.");
  const done = layout(join(cacheDir(), `code-server-${codeServerVersion}`));
  if (existsSync(join(done.folder, ".complete"))) return done;
  for (const tool of ["g++", "make", "python3"]) {
    if (!(await has(tool)))
      throw new SetupError(
        `${tool} is missing, and the browser workbench needs it to build two small modules: install it (Debian: apt-get install g++ make python3), or install VS Code so that \`code\` is on the PATH.`,
      );
  }
  const partial = layout(`${done.folder}.partial-${process.pid}`);
  rmSync(partial.folder, { recursive: true, force: true });
  mkdirSync(partial.folder, { recursive: true });
  writeFileSync(join(partial.folder, "package.json"), '{"name":"lancelot-workbench","private":true}\n');
  say(`Installing the browser workbench (code-server ${codeServerVersion}, about a minute, 800 MB in ${cacheDir()})…`);
  const failure = "The browser workbench could not be installed. Check the network and the npm registry, then try again.";
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", "--ignore-scripts", ...quiet, `${partial.nodePackage}@${nodeVersion}`], {
    cwd: partial.folder,
    quiet: true,
    failure,
  });
  const env = { ...process.env, PATH: `${join(partial.nodeHome, "bin")}:${process.env.PATH}`, npm_config_nodedir: partial.nodeHome };
  const npm = (args, cwd) => run("npm", [...args, ...quiet], { cwd, env, quiet: true, failure });
  await npm(["install", "--ignore-scripts", `code-server@${codeServerVersion}`], partial.folder);
  say("Installing the workbench's own packages…");
  await npm(["install", "--omit=dev", "--ignore-scripts"], partial.workbench);
  await npm(["install", "--omit=dev", "--ignore-scripts"], join(partial.workbench, "extensions"));
  await npm(["rebuild", "--ignore-scripts=false", "@vscode/spdlog", "@vscode/native-watchdog"], partial.workbench);
  const system = process.platform === "darwin" ? "darwin" : "linux";
  link(`code-${system}.sh`, join(partial.workbench, "bin/remote-cli/code-server"));
  link(`browser-${system}.sh`, join(partial.workbench, "bin/helpers/browser.sh"));
  writeFileSync(join(partial.folder, ".complete"), new Date().toISOString());
  rmSync(done.folder, { recursive: true, force: true });
  renameSync(partial.folder, done.folder);
  return done;
}

function link(target, path) {
  rmSync(path, { force: true });
  symlinkSync(target, path);
}

/**
 * Arguments and environment of a workbench that serves one folder on loopback.
 * @param {{ entry: string }} editor
 * @param {{ port: number, userData: string, extensions: string, home: string, workspace?: string, trust?: boolean, smokeTest?: boolean, settings?: Record<string, unknown> }} options
 */
export function codeServerCommand(editor, options) {
  mkdirSync(join(options.userData, "User"), { recursive: true });
  mkdirSync(options.extensions, { recursive: true });
  mkdirSync(options.home, { recursive: true });
  const config = join(options.home, "config.yaml");
  writeFileSync(config, "auth: none\ncert: false\n");
  if (!existsSync(join(options.userData, "User/settings.json"))) writeEditorSettings(options.userData, options);
  const args = [
    editor.entry,
    ...["--config", config, "--auth", "none", "--bind-addr", `127.0.0.1:${options.port}`],
    ...["--user-data-dir", options.userData, "--extensions-dir", options.extensions],
    ...["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--reconnection-grace-time", "1"],
    ...(options.trust ? [] : ["--disable-workspace-trust"]),
    ...(options.smokeTest ? ["--vscode-option", "enable-smoke-test-driver"] : []),
    ...(options.workspace ? [options.workspace] : []),
  ];
  const env = {
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
    XDG_CONFIG_HOME: join(options.home, "config"),
    XDG_DATA_HOME: join(options.home, "data"),
  };
  return { args, env };
}

/**
 * Writes what the owner has set in a workbench. A window that is open takes it over, and a new one begins with it.
 * @param {string} userData
 * @param {{ smokeTest?: boolean, settings?: Record<string, unknown> }} options
 */
export function writeEditorSettings(userData, options) {
  const settings = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.tips.enabled": false,
    "chat.disableAIFeatures": true,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": false,
    "extensions.autoCheckUpdates": false,
    "update.mode": "none",
    ...(options.smokeTest ? { "workbench.reduceMotion": "on", "workbench.hover.delay": 60_000 } : {}),
    ...options.settings,
  };
  const write = (file, content) => {
    mkdirSync(dirname(join(userData, file)), { recursive: true });
    writeFileSync(join(userData, file), `${JSON.stringify(content, null, 2)}\n`);
  };
  write("User/settings.json", settings);
  // What is the machine's own (`scope: machine`) counts from here alone, once the editor knows the extension's settings.
  if (options.settings !== undefined) write("Machine/settings.json", options.settings);
}
