import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { UiAction } from "../../agent-server/contract/webview.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import type { Bridge, Show } from "./bridge.ts";
import { pageHtml } from "./html.ts";

export interface ViewDeps {
  context: vscode.ExtensionContext;
  host: AgentHost;
  log: vscode.LogOutputChannel;
  /** Runs an action that a view requests of the extension. */
  ui: (action: UiAction) => Promise<void>;
}

export interface ConnectedView extends vscode.Disposable {
  show(what: Show): void;
}

/** Fills a webview with its page and connects it to the host. The bridge loads with the first view. */
export function connectWebview(
  { context, host, log, ui }: ViewDeps,
  webview: vscode.Webview,
  view: "chat" | "war-room",
  title: string,
): ConnectedView {
  const folder = vscode.Uri.joinPath(context.extensionUri, "dist", "webviews");
  const early: unknown[] = [];
  const shows: Show[] = [];
  let bridge: Bridge | null = null;
  let disposed = false;

  const registrations = [
    webview.onDidReceiveMessage((message: unknown) => (bridge === null ? early.push(message) : bridge.receive(message))),
    host.onEvent((event) => bridge?.event(event)),
    host.onState((state) => bridge?.hostState(state)),
  ];
  webview.options = { enableScripts: true, localResourceRoots: [folder] };
  const uri = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(folder, file)).toString();
  webview.html = pageHtml({
    view,
    title,
    loading: vscode.l10n.t("Loading…"),
    lang: vscode.env.language,
    texts: vscode.l10n.bundle,
    cspSource: webview.cspSource,
    nonce: randomBytes(16).toString("base64url"),
    uris: { script: uri(`${view}.js`), style: uri(`${view}.css`), codicons: uri("codicon.css") },
  });

  const join = async () => {
    const { createBridge } = await import("../deferred.ts");
    if (disposed) return;
    bridge = createBridge({
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the editor's webviews take one argument
      post: (message) => void webview.postMessage(message),
      call: host.call,
      state: () => host.state,
      ui,
      problem: (error) => log.warn(`${view}: ${error instanceof Error ? error.message : String(error)}`),
    });
    for (const what of shows.splice(0)) bridge.show(what);
    for (const message of early.splice(0)) bridge.receive(message);
  };
  void join();

  return {
    show: (what) => (bridge === null ? void shows.push(what) : bridge.show(what)),
    dispose() {
      disposed = true;
      bridge?.dispose();
      vscode.Disposable.from(...registrations).dispose();
    },
  };
}
