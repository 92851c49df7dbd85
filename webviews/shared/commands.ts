import type { UiAction } from "../../agent-server/contract/webview.ts";

/** Commands of the extension that a view can run. */
export const commands = {
  chooseModel: "lancelot.chooseModel",
  setApiKey: "lancelot.setApiKey",
  showLog: "lancelot.showLog",
  downloadLocalModel: "lancelot.downloadLocalModel",
  restartHost: "lancelot.restartHost",
  openWarRoom: "lancelot.openWarRoom",
  undoTask: "lancelot.undoTask",
  restoreTo: "lancelot.restoreTo",
  doctor: "lancelot.doctor",
  editSoul: "lancelot.editSoul",
  compareSoul: "lancelot.compareSoul",
  reviewSoulProposal: "lancelot.reviewSoulProposals",
  approveSoul: "lancelot.approveSoul",
  rejectSoul: "lancelot.rejectSoul",
  activateSoul: "lancelot.activateSoul",
  rollBackSoul: "lancelot.rollBackSoul",
  decideTrust: "lancelot.decideTrust",
  decideLearning: "lancelot.decideLearning",
  toggleSafeMode: "lancelot.toggleSafeMode",
  setFlag: "lancelot.setFlag",
  exportReceipts: "lancelot.exportReceipts",
  openLink: "lancelot.openLink",
  openAt: "lancelot.openAt",
  openInTerminal: "lancelot.openInTerminal",
  previewPort: "lancelot.previewPort",
  showTouched: "lancelot.showTouched",
  undoTouched: "lancelot.undoTouched",
  buildSandbox: "lancelot.buildSandbox",
  restartSandbox: "lancelot.restartSandbox",
  openSettings: "lancelot.openSettings",
  openChat: "lancelot.openChat",
  chooseTaskModel: "lancelot.chooseTaskModel",
  setCaps: "lancelot.setCaps",
  resetUsage: "lancelot.resetUsage",
  deleteLocalModel: "lancelot.deleteLocalModel",
  rollBackMemory: "lancelot.rollBackMemory",
  promoteMemory: "lancelot.promoteMemory",
  undoMemory: "lancelot.undoMemory",
  exportMemory: "lancelot.exportMemory",
  importMemory: "lancelot.importMemory",
  backUpMemory: "lancelot.backUpMemory",
  openMemory: "lancelot.openMemory",
  downloadIntentModel: "lancelot.downloadIntentModel",
} as const;

export type CommandName = keyof typeof commands;

/** @param argument the command's subject, such as a tab. */
export function commandAction(name: CommandName, argument?: Record<string, string>): UiAction {
  return { action: "command", command: commands[name], ...(argument === undefined ? {} : { args: [argument] }) };
}

/** Asks the extension to preview the undo of a task and to run it after a confirmation. */
export function undoTask(questId: string): UiAction {
  return commandAction("undoTask", { questId });
}
