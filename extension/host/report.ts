import * as vscode from "vscode";

/** Tells the owner of a failed action. What was cancelled needs no words. */
export function report(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (codeOf(error) === "cancelled") return;
  const log = vscode.l10n.t("Show log");
  void vscode.window
    .showErrorMessage(message, log)
    .then((answer) => (answer === log ? vscode.commands.executeCommand("lancelot.showLog") : undefined));
}

/** The contract's code of an error from the host; undefined for any other. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
