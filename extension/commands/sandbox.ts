import * as vscode from "vscode";
import type { DoctorLine, SandboxState } from "../../agent-server/contract/providers.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { withoutEmphasis, showError } from "../host/show-error.ts";
import { confirm } from "./confirmation.ts";
import type { Commands } from "./commands.ts";

type Action = NonNullable<DoctorLine["action"]>;

const icons: Record<DoctorLine["status"], string> = { ok: "$(pass)", warning: "$(warning)", missing: "$(error)" };
const actionIcons: Record<Action, string> = {
  build_image: "package",
  restart_sandbox: "debug-restart",
  open_flags: "settings-gear",
  open_settings: "gear",
};
const actionCommands: Record<Action, string> = {
  build_image: "lancelot.buildSandbox",
  restart_sandbox: "lancelot.restartSandbox",
  open_flags: "lancelot.setFlag",
  open_settings: "lancelot.openSettings",
};

function actionText(action: Action): string {
  switch (action) {
    case "build_image":
      return vscode.l10n.t("Build Image");
    case "restart_sandbox":
      return vscode.l10n.t("Restart Sandbox");
    case "open_flags":
      return vscode.l10n.t("Set Feature Flag");
    case "open_settings":
      return vscode.l10n.t("Open Settings");
  }
}

type Row = vscode.QuickPickItem & { action: Action | null };

function rowOf({ title, status, message, nextStep, action }: DoctorLine): Row {
  return {
    label: `${icons[status]} ${title}`,
    detail: withoutEmphasis(nextStep === null ? message : `${message} ${nextStep}`),
    alwaysShow: true,
    action,
    ...(action === null ? {} : { buttons: [{ iconPath: new vscode.ThemeIcon(actionIcons[action]), tooltip: actionText(action) }] }),
  };
}

/** Builds the image with cancellable progress and shows the result. */
async function build(host: AgentHost): Promise<void> {
  const ended = await vscode.window.withProgress<SandboxState>(
    { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Building the sandbox image"), cancellable: true },
    async (progress, token) => {
      const { promise, resolve, reject } = Promise.withResolvers<SandboxState>();
      const update = (state: SandboxState) => {
        if (state.image.state === "building") progress.report({ message: withoutEmphasis(state.image.message ?? "") });
        else resolve(state);
      };
      const listeners = [
        host.onEvent((event) => {
          if (event.topic === "sandbox") update(event.payload);
        }),
        host.onState(({ state, detail }) => {
          if (state !== "ready") reject(new Error(detail || vscode.l10n.t("The agent host stopped.")));
        }),
        token.onCancellationRequested(() => void host.call("tools.sandbox.cancelBuild", {}).then(update, reject)),
      ];
      try {
        update(await host.call("tools.sandbox.build", {}));
        return await promise;
      } finally {
        vscode.Disposable.from(...listeners).dispose();
      }
    },
  );
  const { state, name, message } = ended.image;
  if (state === "ready") void vscode.window.showInformationMessage(vscode.l10n.t("{0} built. Commands can now run in the sandbox.", name));
  else if (state === "failed") throw new Error(vscode.l10n.t("{0} could not be built: {1}", name, withoutEmphasis(message ?? "")));
  else void vscode.window.showInformationMessage(vscode.l10n.t("Build canceled. {0} did not change.", name));
}

/** *Lancelot: Doctor*: one row for each check of this machine, with the command that fixes it. */
async function doctor(host: AgentHost): Promise<void> {
  const pick = vscode.window.createQuickPick<Row>();
  const again = { iconPath: new vscode.ThemeIcon("refresh"), tooltip: vscode.l10n.t("Check Again") };
  pick.title = vscode.l10n.t("Lancelot Doctor");
  pick.matchOnDetail = true;
  // The checks take seconds, in which the user may click elsewhere.
  pick.ignoreFocusOut = true;
  pick.buttons = [again];
  const read = async () => {
    pick.busy = true;
    pick.placeholder = vscode.l10n.t("Checking…");
    try {
      const { items } = await host.call("tools.doctor", {});
      const failing = items.filter(({ status }) => status !== "ok").length;
      pick.items = items.map(rowOf);
      pick.placeholder =
        failing === 0 ? vscode.l10n.t("All checks passed") : vscode.l10n.t("{0} of {1} checks need attention", failing, items.length);
    } catch (error) {
      pick.hide();
      showError(error);
    } finally {
      pick.busy = false;
    }
  };
  const fix = (row: Row | undefined) => {
    if (row === undefined || row.action === null) return;
    pick.hide();
    void vscode.commands.executeCommand(actionCommands[row.action]);
  };
  pick.onDidTriggerButton(() => void read());
  pick.onDidTriggerItemButton(({ item }) => fix(item));
  pick.onDidAccept(() => fix(pick.selectedItems[0]));
  pick.onDidHide(() => pick.dispose());
  pick.show();
  await read();
}

/** Commands for the sandbox and the doctor. */
export function sandboxCommands(host: AgentHost): Commands {
  return {
    "lancelot.doctor": () => doctor(host),
    "lancelot.buildSandbox": () => build(host),
    async "lancelot.restartSandbox"() {
      const answer = await confirm({
        question: vscode.l10n.t("Restart the sandbox?"),
        detail: vscode.l10n.t("Running commands stop. Workspace files do not change."),
        yes: vscode.l10n.t("Restart"),
      });
      if (answer !== "yes") return;
      const state = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Restarting the sandbox") },
        () => host.call("tools.sandbox.restart", {}),
      );
      void vscode.window.showInformationMessage(withoutEmphasis(state.message));
    },
  };
}
