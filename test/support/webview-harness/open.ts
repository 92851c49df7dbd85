import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";
import { sampleNow } from "./samples.ts";
import type { ViewState } from "./states.ts";
import themes from "./themes.json" with { type: "json" };

const root = fileURLToPath(new URL("../../../", import.meta.url));

export type ThemeName = keyof typeof themes;
export const themeNames = Object.keys(themes) as ThemeName[];

const bodyClasses: Readonly<Record<ThemeName, string>> = {
  dark: "vscode-dark",
  light: "vscode-light",
  "hc-dark": "vscode-high-contrast",
  "hc-light": "vscode-high-contrast vscode-high-contrast-light",
};

/** Scripts, styles and fonts of the views by file name, built as they ship. */
async function buildViews(): Promise<ReadonlyMap<string, string | Buffer>> {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: {
      chat: "webviews/chat/main.tsx",
      "war-room": "webviews/war-room/main.tsx",
      highlight: "webviews/shared/highlight/main.ts",
      "fake-host": "test/support/webview-harness/install.ts",
    },
    outdir: "out",
    write: false,
    bundle: true,
    minify: true,
    platform: "browser",
    format: "iife",
    target: "es2023",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map<string, string | Buffer>(outputFiles.map((file) => [file.path.split(/[\\/]/).at(-1) ?? "", file.text]));
  files.set("codicon.css", readFileSync(join(root, "node_modules/@vscode/codicons/dist/codicon.css")));
  files.set("codicon.ttf", readFileSync(join(root, "node_modules/@vscode/codicons/dist/codicon.ttf")));
  return files;
}

/** What the editor itself puts into the page of every webview, as far as it shows. */
const editorStyles = `
html { scrollbar-color: var(--vscode-scrollbarSlider-background) var(--vscode-editor-background); }
body { background-color: transparent; color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); margin: 0; padding: 0 20px; }
a, a code { color: var(--vscode-textLink-foreground); }
a:hover { color: var(--vscode-textLink-activeForeground); }
a:focus, input:focus, select:focus, textarea:focus { outline: 1px solid -webkit-focus-ring-color; outline-offset: -1px; }
code { font-family: monospace; color: var(--vscode-textPreformat-foreground); background-color: var(--vscode-textPreformat-background); padding: 1px 3px; border-radius: 4px; }
pre code { padding: 0; }
blockquote { background: var(--vscode-textBlockQuote-background); border-color: var(--vscode-textBlockQuote-border); }
kbd { background-color: var(--vscode-keybindingLabel-background); color: var(--vscode-keybindingLabel-foreground); border: 1px solid var(--vscode-keybindingLabel-border); border-radius: 3px; vertical-align: middle; padding: 1px 3px; }
`;

const nonce = "abc123";
const policyOf = (origin: string): string =>
  // As strict as the page of the extension.
  `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${origin} 'unsafe-inline'; font-src ${origin}; img-src ${origin} data:`;

function variablesOf(theme: ThemeName): string {
  const colours = Object.entries(themes[theme]).map(([name, value]) => `${name}: ${value};`);
  return `${colours.join("")}--vscode-font-size: 13px; --vscode-font-family: system-ui, sans-serif; --vscode-editor-font-family: monospace; --vscode-editor-font-size: 12px`;
}

function html(origin: string, state: ViewState, theme: ThemeName): string {
  return `<!DOCTYPE html><html lang="en" style="${variablesOf(theme).replaceAll('"', "&quot;")}"><head><meta charset="utf-8"><title>Lancelot</title>
<link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="${policyOf(origin)}">
<style>${editorStyles}</style><link id="vscode-codicon-stylesheet" rel="stylesheet" href="${origin}/codicon.css"><link rel="stylesheet" href="${origin}/${state.view}.css"></head>
<body class="${bodyClasses[theme]}" data-view="${state.view}"><div id="root"></div>
<script nonce="${nonce}">window.recording = ${JSON.stringify(state.recording).replaceAll("<", "\\u003c")}</script>
<script nonce="${nonce}" src="${origin}/fake-host.js"></script><script nonce="${nonce}" src="${origin}/${state.view}.js"></script></body></html>`;
}

const types: Readonly<Record<string, string>> = { js: "text/javascript", css: "text/css", ttf: "font/ttf" };

/** Serves the views to pages of one Chromium. */
export interface ViewServer {
  /** Address of a view in a state. */
  address(state: ViewState, theme: ThemeName): string;
  close(): Promise<void>;
}

/** Serves scripts and styles from an address of their own, so that the browser loads and compiles each of them once. */
export async function serveViews(): Promise<ViewServer> {
  const files = await buildViews();
  const pages: string[] = [];
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? "/", "http://views").pathname.slice(1);
    const page = pages[Number(name)];
    const body = page ?? files.get(name);
    if (body === undefined) response.writeHead(404);
    else
      response.writeHead(200, {
        "content-type": page === undefined ? (types[name.split(".").at(-1) ?? ""] ?? "text/plain") : "text/html",
        "cache-control": page === undefined ? "max-age=3600" : "no-store",
      });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    address: (state, theme) => `${origin}/${pages.push(html(origin, state, theme)) - 1}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A page that shows one state of a view after another. */
export interface ViewPage {
  readonly page: Page;
  /** What the page logged as an error since the state was opened, policy violations included. */
  readonly errors: string[];
  /** Opens a view in a state, under the content policy it runs with in the editor. */
  open(state: ViewState, look: Look): Promise<void>;
}

export interface Look {
  readonly theme: ThemeName;
  readonly width: number;
}

export async function newViewPage(browser: Browser, views: ViewServer): Promise<ViewPage> {
  const page = await browser.newPage({ reducedMotion: "reduce" });
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.clock.setFixedTime(sampleNow);
  return {
    page,
    errors,
    async open(state, { theme, width }) {
      errors.length = 0;
      await page.setViewportSize({ width, height: state.height ?? 820 });
      // The pointer of the state before would hover over this one.
      await page.mouse.move(0, 0);
      await page.goto(views.address(state, theme));
      await page.locator("main").waitFor();
      await page.evaluate(() => document.fonts.ready);
      for (const selector of state.click ?? []) {
        if (selector === state.hoverFirst?.click) await page.locator(state.hoverFirst.over).first().hover();
        await page.locator(selector).first().click();
      }
      if (state.fill !== undefined) await page.getByTestId(state.fill.testId).fill(state.fill.text);
      await drawn(page);
      if (state.type !== undefined) {
        await page.locator("textarea").click();
        await page.keyboard.type(state.type);
        await page.locator(".suggestion").first().waitFor();
      }
    },
  };
}

/** Waits until what a click opens is drawn, which is with the next frame. */
function drawn(page: Page): Promise<void> {
  return page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));
}

/** Changes the look of an open page as the editor does: colours and classes, at once, without loading it again. */
export async function wear(page: Page, { theme, width }: Look): Promise<void> {
  const { height, width: before } = page.viewportSize() ?? { height: 820, width: 0 };
  if (width !== before) await page.setViewportSize({ width, height });
  await page.evaluate(
    ({ variables, classes }) => {
      document.documentElement.style.cssText = variables;
      document.body.className = classes;
    },
    { variables: variablesOf(theme), classes: bodyClasses[theme] },
  );
  await drawn(page);
}

/** A Chromium without a window. */
export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"] });
}
