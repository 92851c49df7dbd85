import * as vscode from "vscode";
import { codeOf, withoutEmphasis, showError } from "../host/show-error.ts";

export interface Confirmation {
  readonly question: string;
  /** What happens on yes. */
  readonly detail: string;
  /** Label of the button that confirms. Closing the dialog declines. */
  readonly yes: string;
  /** Label of a second button, such as one that shows more first. */
  readonly other?: string;
}

/** Asks in VS Code's modal dialog, which no webview can imitate or press. */
export async function confirm({ question, detail, yes, other }: Confirmation): Promise<"yes" | "other" | "no"> {
  const answer = await vscode.window.showWarningMessage(
    question,
    { modal: true, detail: withoutEmphasis(detail) },
    yes,
    ...(other === undefined ? [] : [other]),
  );
  if (answer === yes) return "yes";
  return answer !== undefined && answer === other ? "other" : "no";
}

/** Shows a message with a button for the next step. The calling command does not wait for the answer. */
export function showWithAction(message: string, button: string, next: () => Promise<void>): void {
  const offer = async () => {
    if ((await vscode.window.showInformationMessage(message, button)) === button) await next();
  };
  void offer().catch(showError);
}

/** Sends a decision to the host. Shows a message and returns null when another window or the terminal decided first. */
export async function runDecision<T>(act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (codeOf(error) !== "conflict") throw error;
    void vscode.window.showInformationMessage(withoutEmphasis(error instanceof Error ? error.message : String(error)));
    return null;
  }
}
