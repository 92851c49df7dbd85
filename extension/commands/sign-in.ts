import * as vscode from "vscode";
import type { OAuthState } from "../../agent-server/contract/oauth.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { withoutEmphasis, showError } from "../host/show-error.ts";
import type { Commands } from "./commands.ts";

/** Commands for signing in to a provider instead of using an API key. */
export function signInCommands(context: vscode.ExtensionContext, host: AgentHost): Commands {
  return {
    async "lancelot.signIn"() {
      const { items } = await host.call("oauth.status", {});
      const picked = await vscode.window.showQuickPick(items.map(choiceOf), { title: vscode.l10n.t("Sign in to which provider?") });
      if (picked === undefined) return;
      const { state } = picked;
      if (state.status === "disabled" || state.status === "unconfigured") {
        const openSettings = vscode.l10n.t("Open Settings");
        const message = withoutEmphasis(state.problem ?? "");
        const answer = await vscode.window.showWarningMessage(message, ...(state.status === "disabled" ? [openSettings] : []));
        if (answer === openSettings)
          await vscode.commands.executeCommand("workbench.action.openSettings", `lancelot.features.${state.provider.toUpperCase()}_OAUTH`);
        return;
      }
      await signIn(context, host, state);
    },
    async "lancelot.signOut"() {
      const { items } = await host.call("oauth.status", {});
      const signedIn = items.filter(({ status }) => status === "signed_in" || status === "expired");
      if (signedIn.length === 0) {
        void vscode.window.showInformationMessage(vscode.l10n.t("You are not signed in to any provider."));
        return;
      }
      const picked = await vscode.window.showQuickPick(signedIn.map(choiceOf), { title: vscode.l10n.t("Sign out of which provider?") });
      if (picked === undefined) return;
      const after = await host.call("oauth.revoke", { provider: picked.state.provider });
      const message = after.problem === null ? vscode.l10n.t("Signed out of {0}.", after.displayName) : withoutEmphasis(after.problem);
      void (after.problem === null ? vscode.window.showInformationMessage(message) : vscode.window.showWarningMessage(message));
    },
  };
}

/** Receives the sign-in redirect at VS Code's own URI. */
export function registerSignInAnswer(host: AgentHost): vscode.Disposable {
  return vscode.window.registerUriHandler({
    handleUri: (uri) => {
      if (uri.path === "/oauth") host.call("oauth.complete", { url: uri.toString(true) }).catch(showError);
    },
  });
}

function choiceOf(state: OAuthState): vscode.QuickPickItem & { state: OAuthState } {
  const status = {
    disabled: vscode.l10n.t("turned off"),
    unconfigured: vscode.l10n.t("no client ID"),
    signed_out: vscode.l10n.t("not signed in"),
    waiting: vscode.l10n.t("waiting for the browser"),
    signed_in: vscode.l10n.t("signed in"),
    expired: vscode.l10n.t("expired"),
    failed: vscode.l10n.t("failed"),
  }[state.status];
  return {
    label: state.displayName,
    description: status,
    ...(state.problem === null ? {} : { detail: withoutEmphasis(state.problem) }),
    state,
  };
}

async function signIn(context: vscode.ExtensionContext, host: AgentHost, { provider, displayName, redirect }: OAuthState): Promise<void> {
  // VS Code in a browser cannot listen on the user's machine.
  const byEditor = redirect === "editor" || vscode.env.uiKind === vscode.UIKind.Web;
  const editorUri = vscode.Uri.parse(`${vscode.env.uriScheme}://${context.extension.id}/oauth`);
  const begun = await host.call("oauth.initiate", {
    provider,
    ...(byEditor ? { redirectUri: (await vscode.env.asExternalUri(editorUri)).toString(true) } : {}),
  });
  const back = new URL(begun.url).searchParams.get("redirect_uri");
  // For a remote host, VS Code forwards its port to this machine.
  if (!byEditor && vscode.env.remoteName !== undefined && back !== null) await vscode.env.asExternalUri(vscode.Uri.parse(back));
  // Passed as a string, because `Uri.parse` can change the URL's encoding.
  const opened = await vscode.env.openExternal(begun.url as unknown as vscode.Uri);
  if (!opened) {
    const copy = vscode.l10n.t("Copy URL");
    void vscode.window
      .showWarningMessage(vscode.l10n.t("The browser could not be opened. Copy the URL and open it yourself."), copy)
      .then(async (answer) => {
        if (answer === copy) await vscode.env.clipboard.writeText(begun.url);
      });
  }
  const title = vscode.l10n.t("Waiting for you to sign in to {0} in the browser", displayName);
  const after = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (_, token) =>
    waitForEnd(host, provider, Date.parse(begun.expiresAt), token),
  );
  if (after === null) return;
  if (after.status === "signed_in") void vscode.window.showInformationMessage(vscode.l10n.t("Signed in to {0}.", displayName));
  else
    void vscode.window.showWarningMessage(
      withoutEmphasis(after.problem ?? vscode.l10n.t("Sign-in to {0} was not completed.", displayName)),
    );
}

/** Resolves with the state after the sign-in ended; null when the user cancelled. */
function waitForEnd(
  host: AgentHost,
  provider: OAuthState["provider"],
  expiresAt: number,
  token: vscode.CancellationToken,
): Promise<OAuthState | null> {
  return new Promise((resolve, reject) => {
    const look = async (): Promise<void> => {
      const { items } = await host.call("oauth.status", {});
      const state = items.find((item) => item.provider === provider);
      if (state !== undefined && state.status !== "waiting") finish(() => resolve(state));
    };
    const failed = (error: unknown): void => finish(() => reject(error instanceof Error ? error : new Error(String(error))));
    const registrations = [
      host.onEvent(({ topic }) => void (topic === "oauth" && look().catch(failed))),
      host.onState(({ state, detail }) => (state === "stopped" || state === "failed" ? failed(new Error(detail)) : undefined)),
      token.onCancellationRequested(() => {
        host.call("oauth.cancel", { provider }).catch(showError);
        finish(() => resolve(null));
      }),
    ];
    const timer = setTimeout(() => void look().catch(failed), Math.max(expiresAt - Date.now(), 0) + 1_000);
    const finish = (end: () => void): void => {
      clearTimeout(timer);
      vscode.Disposable.from(...registrations).dispose();
      end();
    };
    // The sign-in may have ended before the listeners were registered.
    look().catch(failed);
  });
}
