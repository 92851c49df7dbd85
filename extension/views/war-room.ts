import * as vscode from "vscode";
import type { Show } from "./bridge.ts";
import { type ConnectedView, connectWebview, type ViewDeps } from "./webview.ts";

const viewType = "lancelot-war-room";

export interface WarRoom extends vscode.Disposable {
  /** Opens the War Room or reveals it, and asks it to show something. */
  open(what?: Show): void;
}

/** The War Room: one editor tab per window, restored after a reload. */
export function registerWarRoom(deps: ViewDeps): WarRoom {
  let current: { panel: vscode.WebviewPanel; connected: ConnectedView } | null = null;
  const title = vscode.l10n.t("War Room");

  const adopt = (panel: vscode.WebviewPanel) => {
    panel.iconPath = vscode.Uri.joinPath(deps.context.extensionUri, "media", "icons", "shield-tab.svg");
    const connected = connectWebview(deps, panel.webview, "war-room", title);
    const adopted = { panel, connected };
    current = adopted;
    panel.onDidDispose(() => {
      connected.dispose();
      if (current === adopted) current = null;
    });
    return adopted;
  };

  const registration = vscode.window.registerWebviewPanelSerializer(viewType, {
    deserializeWebviewPanel(panel) {
      if (current !== null) panel.dispose();
      else adopt(panel);
      return Promise.resolve();
    },
  });

  return {
    open(what) {
      if (current === null)
        adopt(
          vscode.window.createWebviewPanel(viewType, title, vscode.ViewColumn.Active, {
            enableScripts: true,
            retainContextWhenHidden: true,
          }),
        );
      else current.panel.reveal();
      if (what !== undefined) current?.connected.show(what);
    },
    dispose() {
      current?.connected.dispose();
      registration.dispose();
    },
  };
}
