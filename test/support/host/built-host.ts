import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectNode, root } from "../setup/project.mjs";

/** Entry points of the built host; `npm test` builds them first. */
export const cliPath = join(root, "dist/host/cli.js");
export const mainPath = join(root, "dist/host/main.js");

/** A temporary folder that goes when the test disposes of it. */
export function temporaryFolder(prefix: string): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), `lancelot-${prefix}-`));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** A copy of the sample project. */
export function sampleWorkspace(): { path: string } & Disposable {
  const folder = temporaryFolder("sample");
  cpSync(join(root, "media/sample"), folder.path, { recursive: true });
  return folder;
}

/** The environment of a host under test: no keys, no proxies but what reaches the registry. */
export function hostEnv(extra: Record<string, string> = {}): Record<string, string> {
  const kept = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_registry",
    "HTTPS_PROXY",
    "NO_PROXY",
    "LANCELOT_CACHE",
    "NODE_COMPILE_CACHE",
  ];
  return { ...Object.fromEntries(kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))), ...extra };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `lancelot …` to its end. */
export function runCli(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; input?: string; node?: string } = {},
): Promise<Finished> {
  const child = spawn(options.node ?? projectNode(), [cliPath, ...args], {
    env: hostEnv(options.env),
    cwd: options.cwd,
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(options.input ?? "");
  return finished(child);
}

export function finished(child: ChildProcess): Promise<Finished> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** `lancelot serve` on a free port. */
export async function startServe(options: {
  workspace: string;
  data: string;
  env?: Record<string, string>;
}): Promise<{ url: string; token: string; child: ChildProcess; stop(): Promise<void> }> {
  const child = spawn(projectNode(), [cliPath, "serve", "--port", "0", "--workspace", options.workspace, "--data", options.data], {
    env: hostEnv(options.env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = finished(child);
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    void ended.then((result) => reject(new Error(`serve ended with ${result.code}: ${result.stderr}`)));
  });
  const { url, token } = JSON.parse(line) as { url: string; token: string };
  return {
    url,
    token,
    child,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** How long tests of a real editor wait. It only ends tests that hang: a window that opens in 18 s alone takes minutes beside other tests. */
export const editorPatienceMs = 300_000;

/** Waits until `ready` holds, looking every 25 ms. @throws Error with `what` after `timeoutMs`. */
export async function until(what: string, ready: () => boolean | Promise<boolean>, timeoutMs = editorPatienceMs): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await ready())) {
    if (Date.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
