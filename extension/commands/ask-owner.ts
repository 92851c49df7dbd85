import * as vscode from "vscode";
import { codeOf, plain, report } from "../host/report.ts";

export interface OwnerQuestion {
  readonly question: string;
  /** What it does and what changes. */
  readonly detail: string;
  /** The button that says yes; closing the dialog says no. */
  readonly yes: string;
  /** A second way out, such as reading more first. */
  readonly other?: string;
}

/** Asks in the editor's own dialog, over everything, which no page of ours can draw or press. */
export async function askOwner({ question, detail, yes, other }: OwnerQuestion): Promise<"yes" | "other" | "no"> {
  const answer = await vscode.window.showWarningMessage(
    question,
    { modal: true, detail: plain(detail) },
    yes,
    ...(other === undefined ? [] : [other]),
  );
  if (answer === yes) return "yes";
  return answer !== undefined && answer === other ? "other" : "no";
}

/** Says what was done and offers the next step; the command that did it is over, whether the owner takes the offer or not. */
export function sayAndOffer(message: string, button: string, next: () => Promise<void>): void {
  const offer = async () => {
    if ((await vscode.window.showInformationMessage(message, button)) === button) await next();
  };
  void offer().catch(report);
}

/** Runs an act of the owner; says so when it was decided elsewhere (another window, the terminal) meanwhile. */
export async function ownerAct<T>(act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (codeOf(error) !== "conflict") throw error;
    void vscode.window.showInformationMessage(plain(error instanceof Error ? error.message : String(error)));
    return null;
  }
}
