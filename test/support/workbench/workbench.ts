import { type ChildProcess, spawn } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { format } from "node:util";
import { join } from "node:path";
import { type Browser, chromium, type Frame, type Page } from "playwright-core";
import { chromiumFlags, findChromium } from "../setup/chromium.mjs";
import { codeServerCommand, ensureCodeServer, writeEditorSettings } from "../setup/code-server.mjs";
import { ensureVsix, root } from "../setup/project.mjs";
import { run } from "../setup/say.mjs";
import { modelExtension } from "./model-extension.ts";
import { freePort } from "../free-port.ts";
import { editorPatienceMs } from "../host/built-host.ts";

/** A real workbench: code-server with the packed extension, and a browser on it. */
export interface Workbench {
  readonly page: Page;
  readonly url: string;
  /** The extension's data folder (global storage). */
  readonly dataDir: string;
  /** Pids of running agent hosts of this workbench. */
  hostPids(): number[];
  /** Keeps a picture in test-output/screenshots where LANCELOT_SCREENSHOTS=1: pictures are for people, and cost a tenth of the run. */
  shot(name: string): Promise<void>;
  /** Runs a command of the palette by its title. */
  command(title: string): Promise<void>;
  /** The frame of a Lancelot webview: `chat` or `war-room`. */
  view(name: "chat" | "war-room"): Promise<Frame>;
  /** Kills the editor's server with SIGKILL. */
  kill(): void;
  close(): Promise<void>;
}

export interface WorkbenchOptions {
  /** Null opens a window without a folder. */
  workspace: string | null;
  /** Starts a server for this window alone, which can then be killed. */
  own?: boolean;
  /** Without Lancelot: the editor as it comes. */
  bare?: boolean;
  /** With Workspace Trust, as a desktop editor has it; the workspace is then not trusted yet. Off unless said. */
  trust?: boolean;
  /** Use the checkout instead of a VSIX, as F5 does, with these tests. */
  development?: { testsPath: string; onLog: (line: string) => void; onExit: (code: number) => void };
  /** More VSIX files to install. */
  extensions?: readonly string[];
  /** Environment of the editor, for example a data folder. */
  env?: Record<string, string>;
  settings?: Record<string, unknown>;
  theme?: string;
  viewport?: { width: number; height: number };
}

/** The windows that are open now. */
const openPages = new Set<Page>();

export const defaultViewport = { width: 1400, height: 900 };

const screenshots = join(root, "test-output/screenshots");

/** A running code-server with the packed extension. */
interface EditorServer {
  readonly url: string;
  readonly home: string;
  readonly pid: number;
}

/** What the files of a run share. */
interface SharedServer extends EditorServer {
  /** Where the browser takes connections. */
  readonly browser: string;
}

const userDataOf = (home: string): string => join(home, "user");

/** Starts code-server on a free port. */
async function startServer(options: WorkbenchOptions): Promise<EditorServer & { child: ChildProcess; output(): string }> {
  const editor = await ensureCodeServer();
  const home = mkdtempSync(join(tmpdir(), "lancelot-workbench-"));
  const port = await freePort();
  const shared = sharedServer();
  const installed = shared !== null && !options.development && !options.extensions;
  // What the shared server has installed is there for the others too.
  const extensions = join(installed ? shared.home : home, "extensions");
  const common = { port, userData: userDataOf(home), extensions, home, smokeTest: true };
  const { args, env } = codeServerCommand(editor, {
    ...common,
    ...(options.workspace === null ? {} : { workspace: options.workspace }),
    trust: options.trust ?? false,
    settings: options.settings ?? {},
  });
  const fullEnv = { ...process.env, ...env, ...options.env };
  if (!options.development && !installed && options.bare !== true) {
    const { args: install } = codeServerCommand(editor, common);
    for (const vsix of [await ensureVsix(), ...(options.extensions ?? [])])
      await run(editor.node, [...install, "--install-extension", vsix, "--force"], { env: fullEnv, quiet: true });
  }
  const child = spawn(editor.node, args, { env: fullEnv, stdio: ["ignore", "pipe", "pipe"], detached: process.platform !== "win32" });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000);
    });
  const url = `http://127.0.0.1:${port}`;
  await untilUp(`${url}/healthz`, child, () => output);
  return { url, home, pid: child.pid ?? 0, child, output: () => output };
}

async function stopServer({ child, home, pid, output }: Awaited<ReturnType<typeof startServer>>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    killGroup(pid, "SIGTERM");
    const timer = setTimeout(() => killGroup(pid, "SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  }
  if (process.env["LANCELOT_KEEP_WORKBENCH"]) console.log(home, output());
  else rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Names the server that all files of a run share. */
const sharedVariable = "LANCELOT_TEST_WORKBENCH";

/** Vitest's global setup of the browser tests: one server and one browser for all their files. @returns what ends them */
export async function setup(): Promise<() => Promise<void>> {
  const executablePath = requireChromium();
  const [server, browser] = await Promise.all([
    startServer({ workspace: null, extensions: [await modelExtension()] }),
    chromium.launchServer({ executablePath, headless: true, args: [...chromiumFlags] }),
  ]);
  const { url, home, pid } = server;
  process.env[sharedVariable] = JSON.stringify({ url, home, pid, browser: browser.wsEndpoint() } satisfies SharedServer);
  return async () => {
    await browser.close();
    await stopServer(server);
  };
}

const sharedServer = (): SharedServer | null => {
  const shared = process.env[sharedVariable];
  return shared === undefined ? null : (JSON.parse(shared) as SharedServer);
};

function requireChromium(): string {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error("Chromium is missing: install it or name it in CHROMIUM_PATH.");
  return executablePath;
}

/** Where the files of a run keep what ends with their server. */
export function sharedFolder(): string {
  const shared = sharedServer();
  if (shared === null) throw new Error("There is no shared server; test/e2e runs in the vitest project `browser`.");
  return shared.home;
}

/** Settings of the shared window, which it takes over while it is open. */
export function setSharedSettings(settings: Record<string, unknown>): void {
  writeEditorSettings(userDataOf(sharedFolder()), { smokeTest: true, settings });
}

/** Opens the workbench in headless Chromium: on the server that the files of a run share, or on one of its own. */
export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  const shared = sharedServer();
  const special =
    options.own === true ||
    options.bare === true ||
    options.trust === true ||
    [options.development, options.env, options.extensions].some(Boolean);
  const own = shared === null || special ? await startServer(options) : null;
  const server = own ?? shared;
  if (server === null) throw new Error("There is no server.");
  const { url, home } = server;
  if (own === null) setSharedSettings(options.settings ?? {});

  const browser: Browser =
    shared === null
      ? await chromium.launch({ executablePath: requireChromium(), headless: true, args: [...chromiumFlags] })
      : await chromium.connect(shared.browser);
  const context = await browser.newContext({
    viewport: options.viewport ?? defaultViewport,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(editorPatienceMs);
  openPages.add(page);
  page.once("close", () => openPages.delete(page));
  await page.goto(await address(page, url, options));
  await page.locator(".monaco-workbench").waitFor();
  if (!options.development && options.bare !== true) await page.locator('.activitybar a[aria-label^="Lancelot"]').waitFor();
  return workbench({
    page,
    server,
    async close() {
      await context.close();
      await browser.close();
      if (own !== null) return stopServer(own);
      // The window's hosts end a moment after it, and write into its data folder until then.
      while (processesWith("dist/host/main.js", userDataOf(home)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    },
  });
}

async function address(page: Page, url: string, options: WorkbenchOptions): Promise<string> {
  const folder = options.workspace === null ? "?ew=true" : `?folder=${encodeURIComponent(options.workspace)}`;
  const { development } = options;
  if (!development) return `${url}/${folder}`;
  await page.exposeFunction("codeAutomationLog", (_type: string, lines: unknown[]) => development.onLog(format(...lines)));
  await page.exposeFunction("codeAutomationExit", (code: number) => development.onExit(code));
  const remote = (path: string) => `vscode-remote://${new URL(url).host}${path}`;
  const payload = JSON.stringify([
    ["extensionDevelopmentPath", remote(root)],
    ["extensionTestsPath", remote(development.testsPath)],
    ["skipWelcome", "true"],
  ]);
  return `${url}/${folder}&payload=${encodeURIComponent(payload)}`;
}

async function untilUp(url: string, server: ChildProcess, output: () => string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`code-server ended at once:\n${output()}`);
    const up = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (up) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

interface Parts {
  page: Page;
  server: EditorServer;
  close(): Promise<void>;
}

function workbench({ page, server: { url, home, pid }, close }: Parts): Workbench {
  return {
    page,
    url,
    dataDir: join(userDataOf(home), "User/globalStorage/lancelot.lancelot"),
    hostPids: () => processesWith("dist/host/main.js", userDataOf(home)),
    async shot(name) {
      if (process.env["LANCELOT_SCREENSHOTS"] !== "1") return;
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name}.png`) });
    },
    async command(title) {
      const input = page.locator(".quick-input-widget input.input");
      const row = page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
      // The palette closes again when something else takes the focus, as a view that was just opened does.
      for (let left = 30; ; left -= 1) {
        try {
          await page.keyboard.press("F1");
          await input.fill(`>${title}`, { timeout: 4_000 });
          // A click starts this command and no other, also when the palette closes in the same moment. Loading a window again takes longer
          // than a click may: whoever waits for it would start the command twice.
          await row.click({ timeout: 10_000, noWaitAfter: true });
          return;
        } catch (error) {
          if (left === 0) throw error;
        }
      }
    },
    view: (name) => findView(page, name),
    kill: () => killGroup(pid, "SIGKILL"),
    close,
  };
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Webviews are frames in frames; the inner one carries `data-view`. Waits until it has drawn something. */
async function findView(page: Page, name: string): Promise<Frame> {
  const deadline = Date.now() + editorPatienceMs;
  while (Date.now() < deadline) {
    for (const frame of page.frames()) {
      const shown = await frame
        .locator(`body[data-view="${name}"] #root > *`)
        .count()
        .catch(() => 0);
      if (shown > 0) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`The ${name} view did not show within ${editorPatienceMs} ms.`);
}

/** What the views and notifications of every open window show, its frames, and the last lines of the logs: for the report of a failed test. */
export async function whatIsOpen(): Promise<string> {
  const shown = await Promise.all([...openPages].flatMap((page) => page.frames().map(textOf)));
  const shared = sharedServer();
  const logs = shared === null ? [] : globSync(join(userDataOf(shared.home), "**/{*Lancelot*,remoteexthost}.log"));
  const frames = [...openPages].map((page) => `frames: ${page.frames().map(frameName).join(" ")}`);
  return [...shown.filter((text) => text !== ""), ...frames, ...logs.map((path) => readFileSync(path, "utf8").slice(-1_500))].join("\n");
}

/** Which page a frame shows, without what differs in each run. */
function frameName(frame: Frame): string {
  return /[^/?]*(?=\?|$)/.exec(frame.url())?.[0] || "window";
}

/** The end of what a view says, or the notifications and the status bar of a window, on one line; an empty text for other frames. */
async function textOf(frame: Frame): Promise<string> {
  const parts = frame.locator("body[data-view] #root, .notifications-toasts, .notifications-center, .statusbar, .quick-input-widget");
  const texts = await parts.allInnerTexts().catch(() => []);
  return texts
    .map((text) => text.replace(/\s+/g, " ").trim().slice(-1_000))
    .filter((text) => text !== "")
    .join(" | ");
}

/** Linux: processes whose command line has `script` and whose environment or arguments name this workbench. */
function processesWith(script: string, userData: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(script)) return false;
        return belongsTo(Number(pid), userData);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Walks up the parents to the code-server that was started with this user data folder. */
function belongsTo(pid: number, userData: string): boolean {
  for (let current = pid, depth = 0; current > 1 && depth < 12; depth += 1) {
    if (readFileSync(`/proc/${current}/cmdline`, "utf8").includes(userData)) return true;
    current = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${current}/status`, "utf8"))?.[1] ?? 0);
  }
  return false;
}
