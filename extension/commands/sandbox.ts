import * as vscode from "vscode";
import type { DoctorLine, SandboxState } from "../../agent-server/contract/providers.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { plain, report } from "../host/report.ts";
import { askOwner } from "./ask-owner.ts";
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
      return vscode.l10n.t("Build image");
    case "restart_sandbox":
      return vscode.l10n.t("Restart the sandbox");
    case "open_flags":
      return vscode.l10n.t("Switch a flag on or off");
    case "open_settings":
      return vscode.l10n.t("Open settings");
  }
}

type Row = vscode.QuickPickItem & { action: Action | null };

function rowOf({ title, status, message, nextStep, action }: DoctorLine): Row {
  return {
    label: `${icons[status]} ${title}`,
    detail: plain(nextStep === null ? message : `${message} ${nextStep}`),
    alwaysShow: true,
    action,
    ...(action === null ? {} : { buttons: [{ iconPath: new vscode.ThemeIcon(actionIcons[action]), tooltip: actionText(action) }] }),
  };
}

/** Builds the image with progress that can be cancelled, and says how it ended. */
async function build(host: AgentHost): Promise<void> {
  const ended = await vscode.window.withProgress<SandboxState>(
    { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Building the sandbox's image"), cancellable: true },
    async (progress, token) => {
      const { promise, resolve, reject } = Promise.withResolvers<SandboxState>();
      const take = (state: SandboxState) => {
        if (state.image.state === "building") progress.report({ message: plain(state.image.message ?? "") });
        else resolve(state);
      };
      const listeners = [
        host.onEvent((event) => {
          if (event.topic === "sandbox") take(event.payload);
        }),
        host.onState(({ state, detail }) => {
          if (state !== "ready") reject(new Error(detail || vscode.l10n.t("The agent host ended.")));
        }),
        token.onCancellationRequested(() => void host.call("tools.sandbox.cancelBuild", {}).then(take, reject)),
      ];
      try {
        take(await host.call("tools.sandbox.build", {}));
        return await promise;
      } finally {
        vscode.Disposable.from(...listeners).dispose();
      }
    },
  );
  const { state, name, message } = ended.image;
  if (state === "ready") void vscode.window.showInformationMessage(vscode.l10n.t("{0} is built. Commands can run in it.", name));
  else if (state === "failed") throw new Error(vscode.l10n.t("{0} could not be built: {1}", name, plain(message ?? "")));
  else void vscode.window.showInformationMessage(vscode.l10n.t("The build was stopped. {0} is as it was before.", name));
}

/** *Lancelot: Doctor*: what the machine has for running commands and keeping changes, a line each, with what fixes it. */
async function doctor(host: AgentHost): Promise<void> {
  const pick = vscode.window.createQuickPick<Row>();
  const again = { iconPath: new vscode.ThemeIcon("refresh"), tooltip: vscode.l10n.t("Look again") };
  pick.title = vscode.l10n.t("Lancelot: what this machine has for tools");
  pick.matchOnDetail = true;
  pick.buttons = [again];
  const read = async () => {
    pick.busy = true;
    pick.placeholder = vscode.l10n.t("Looking…");
    try {
      const { items } = await host.call("tools.doctor", {});
      const wanting = items.filter(({ status }) => status !== "ok").length;
      pick.items = items.map(rowOf);
      pick.placeholder =
        wanting === 0 ? vscode.l10n.t("Everything is there.") : vscode.l10n.t("{0} of {1} lines want something.", wanting, items.length);
    } catch (error) {
      pick.hide();
      report(error);
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

/** The sandbox that commands run in. */
export function sandboxCommands(host: AgentHost): Commands {
  return {
    "lancelot.doctor": () => doctor(host),
    "lancelot.buildSandbox": () => build(host),
    async "lancelot.restartSandbox"() {
      const answer = await askOwner({
        question: vscode.l10n.t("Restart the sandbox?"),
        detail: vscode.l10n.t("Commands that run in it are ended. Files of the workspace stay as they are."),
        yes: vscode.l10n.t("Restart"),
      });
      if (answer !== "yes") return;
      const state = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Restarting the sandbox") },
        () => host.call("tools.sandbox.restart", {}),
      );
      void vscode.window.showInformationMessage(plain(state.message));
    },
  };
}
