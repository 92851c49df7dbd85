import type { UiAction } from "../../agent-server/contract/webview.ts";

/** Commands of the extension that a view may ask for. */
export const commands = {
  chooseModel: "lancelot.chooseModel",
  setApiKey: "lancelot.setApiKey",
  showLog: "lancelot.showLog",
  downloadLocalModel: "lancelot.downloadLocalModel",
  restartHost: "lancelot.restartHost",
  openWarRoom: "lancelot.openWarRoom",
} as const;

export type CommandName = keyof typeof commands;

export function commandAction(name: CommandName): UiAction {
  return { action: "command", command: commands[name] };
}

/** Asks the extension to show what undoing a task would change, and to do it when the owner agrees. */
export function undoTask(questId: string): UiAction {
  return { action: "command", command: "lancelot.undoTask", args: [questId] };
}
