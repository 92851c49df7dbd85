import * as vscode from "vscode";

/** Shows the error of a failed action; nothing for a cancelled one. */
export function showError(error: unknown): void {
  if (codeOf(error) !== "cancelled") void showMessage(withoutEmphasis(error instanceof Error ? error.message : String(error)));
}

/** Replaces the Markdown emphasis in the host's messages with quotation marks: notifications and quick picks do not render Markdown. */
export function withoutEmphasis(text: string): string {
  return text.replaceAll(/\*([^*\n]+)\*/g, "“$1”");
}

async function showMessage(message: string): Promise<void> {
  const log = vscode.l10n.t("Show Log");
  const answer = await vscode.window.showErrorMessage(message, log);
  if (answer === log) await vscode.commands.executeCommand("lancelot.showLog");
}

/** The contract's code of an error from the host; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
