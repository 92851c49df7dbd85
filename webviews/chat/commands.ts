import { t } from "../shared/l10n.ts";

/** A `/` command. `prompt` goes to the model as text, `action` is done by the view. */
export type SlashCommand =
  | { readonly kind: "prompt"; readonly name: string; readonly description: string }
  | { readonly kind: "action"; readonly name: ActionName; readonly description: string };

export type ActionName = "new" | "undo" | "model" | "receipts";

export function slashCommands(): readonly SlashCommand[] {
  return [
    { kind: "prompt", name: "explain", description: t("Explain code or a question") },
    { kind: "prompt", name: "fix", description: t("Find and fix a problem") },
    { kind: "prompt", name: "test", description: t("Write or repair tests") },
    { kind: "prompt", name: "review", description: t("Review code and name what is wrong") },
    { kind: "prompt", name: "crusader", description: t("Do it without waiting for a review of edits; they can be undone") },
    { kind: "prompt", name: "compact", description: t("Summarize the older part of this task to make room") },
    { kind: "prompt", name: "remember", description: t("Remember something in your words") },
    { kind: "prompt", name: "forget", description: t("Forget what was remembered of something") },
    { kind: "prompt", name: "memory", description: t("Show what is remembered of something") },
    { kind: "action", name: "new", description: t("Start a new task") },
    { kind: "action", name: "undo", description: t("Undo what this task changed") },
    { kind: "action", name: "model", description: t("Choose the model") },
    { kind: "action", name: "receipts", description: t("Open the receipts") },
  ];
}

export function matchingCommands(query: string): readonly SlashCommand[] {
  const start = query.toLowerCase();
  return slashCommands().filter((command) => command.name.startsWith(start));
}

/** The action that a whole text names, such as `/new`; null when the text is a message. */
export function actionIn(text: string): ActionName | null {
  const name = /^\/([a-z]+)\s*$/.exec(text)?.[1];
  const command = slashCommands().find((candidate) => candidate.name === name);
  return command?.kind === "action" ? command.name : null;
}
