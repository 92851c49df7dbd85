import * as vscode from "vscode";

/** Tells the owner of a failed action. What was cancelled needs no words. */
export function report(error: unknown): void {
  if (codeOf(error) !== "cancelled") void tell(plain(error instanceof Error ? error.message : String(error)));
}

/** Sentences of the host name commands in Markdown's emphasis, which notifications and quick picks show as it stands. */
export function plain(text: string): string {
  return text.replaceAll(/\*([^*\n]+)\*/g, "“$1”");
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
