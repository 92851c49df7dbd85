import * as vscode from "vscode";
import type { Show } from "./bridge.ts";
import { type ConnectedView, connectWebview, type ViewDeps } from "./webview.ts";

export interface ChatView extends vscode.Disposable {
  readonly visible: boolean;
  /** Opens the view and asks it to show something. */
  show(what: Show): Promise<void>;
}

/** The chat in the sidebar. */
export function registerChatView(deps: ViewDeps): ChatView {
  let resolved: { view: vscode.WebviewView; connected: ConnectedView } | null = null;
  /** Requests made before VS Code created the view. */
  let waiting: Show[] = [];

  const registration = vscode.window.registerWebviewViewProvider(
    "lancelot.chat",
    {
      resolveWebviewView(view) {
        const connected = connectWebview(deps, view.webview, "chat", vscode.l10n.t("Lancelot Chat"));
        resolved = { view, connected };
        for (const what of waiting.splice(0)) connected.show(what);
        view.onDidDispose(() => {
          connected.dispose();
          if (resolved?.view === view) resolved = null;
        });
      },
    },
    { webviewOptions: { retainContextWhenHidden: true } },
  );

  return {
    get visible() {
      return resolved?.view.visible ?? false;
    },
    async show(what) {
      if (resolved === null) waiting.push(what);
      else resolved.connected.show(what);
      await vscode.commands.executeCommand("lancelot.chat.focus");
    },
    dispose() {
      waiting = [];
      resolved?.connected.dispose();
      registration.dispose();
    },
  };
}
