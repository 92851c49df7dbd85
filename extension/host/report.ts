import * as vscode from "vscode";

/** Tells the owner of a failed action. What was cancelled needs no words. */
export function report(error: unknown): void {
  if (codeOf(error) !== "cancelled") void tell(error instanceof Error ? error.message : String(error));
}

async function tell(message: string): Promise<void> {
  const log = vscode.l10n.t("Show log");
  const answer = await vscode.window.showErrorMessage(message, log);
  if (answer === log) await vscode.commands.executeCommand("lancelot.showLog");
}

/** The contract's code of an error from the host; undefined for any other. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
