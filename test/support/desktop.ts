/**
 * `npm run test:desktop`: the suites of test/editor in a desktop VS Code, which is downloaded once. VSCODE_PATH names one that is there
 * already. `npm test -- editor` runs the same suites in the browser workbench, without that download.
 */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { downloadAndUnzipVSCode } from "@vscode/test-electron";
import { chromium, type Page } from "playwright-core";
import { locate } from "./setup/machine.mjs";
import { cacheDir, root } from "./setup/project.mjs";
import { SetupError, say } from "./setup/say.mjs";
import { buildEditorSuite, isRequest, playUser } from "./workbench/editor-suite.ts";
import { freePort } from "./free-port.ts";

async function findEditor(): Promise<string> {
  const { VSCODE_PATH: given } = process.env;
  if (given !== undefined) {
    if (!existsSync(given)) throw new SetupError(`VSCODE_PATH names ${given}, which does not exist.`);
    return given;
  }
  const cachePath = join(cacheDir(), "vscode");
  mkdirSync(cachePath, { recursive: true });
  try {
    return await downloadAndUnzipVSCode({ version: "stable", cachePath });
  } catch (error) {
    throw new SetupError(
      `VS Code could not be downloaded from update.code.visualstudio.com (${error instanceof Error ? error.message : String(error)}). ` +
        "Set VSCODE_PATH to a VS Code on this machine, or run `npm test -- editor`: the same tests in the browser workbench.",
    );
  }
}

/** A display for Electron where the machine has none. */
function onDisplay(command: string, args: readonly string[]): [command: string, args: readonly string[]] {
  if (process.platform !== "linux" || process.env["DISPLAY"] !== undefined || process.env["WAYLAND_DISPLAY"] !== undefined)
    return [command, args];
  if (locate("xvfb-run") === undefined)
    throw new SetupError("VS Code needs a display, or a virtual one (Debian: apt-get install -y xvfb xauth).");
  return ["xvfb-run", ["-a", command, ...args]];
}

/** The page of the window, by Electron's debugging port. */
async function connect(port: number): Promise<Page> {
  for (;;) {
    const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`).catch(() => null);
    const page = browser
      ?.contexts()
      .flatMap((context) => context.pages())
      .find((one) => one.url().includes("workbench"));
    if (page !== undefined) return page;
    await browser?.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function runSuites(editor: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-desktop-"));
  const workspace = join(folder, "workspace");
  cpSync(join(root, "media/sample"), workspace, { recursive: true });
  mkdirSync(join(folder, "user/User"), { recursive: true });
  writeFileSync(
    join(folder, "user/User/settings.json"),
    '{"files.autoSave":"off","telemetry.telemetryLevel":"off","update.mode":"none"}\n',
  );
  const port = await freePort();
  const [command, args] = onDisplay(editor, [
    workspace,
    `--extensionDevelopmentPath=${root}`,
    `--extensionTestsPath=${await buildEditorSuite()}`,
    ...["--user-data-dir", join(folder, "user"), "--extensions-dir", join(folder, "extensions")],
    ...[
      "--no-sandbox",
      "--disable-gpu-sandbox",
      "--disable-updates",
      "--skip-welcome",
      "--skip-release-notes",
      "--disable-workspace-trust",
    ],
    `--remote-debugging-port=${port}`,
  ]);
  // An extension host that is started from one would take its settings.
  const { ELECTRON_RUN_AS_NODE: _node, ...env } = process.env;
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let page: Promise<Page> | undefined;
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = `${rest}${chunk}`.split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!isRequest(line)) {
        process.stdout.write(`${line}\n`);
        continue;
      }
      playUser(() => (page ??= connect(port)), line).catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        child.kill();
      });
    }
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? 1));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

try {
  const editor = await findEditor();
  process.exit(await runSuites(editor));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exit(1);
}
