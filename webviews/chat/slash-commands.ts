import { t } from "../shared/l10n.ts";

/** A `/` command. The model receives a `prompt` as text; the view runs an `action`. */
export type SlashCommand =
  | { readonly kind: "prompt"; readonly name: string; readonly description: string }
  | { readonly kind: "action"; readonly name: ActionName; readonly description: string };

export type ActionName = "new" | "undo" | "model" | "receipts" | "doctor";

export function slashCommands(): readonly SlashCommand[] {
  return [
    { kind: "prompt", name: "explain", description: t("Explain code or a question") },
    { kind: "prompt", name: "fix", description: t("Find and fix a problem") },
    { kind: "prompt", name: "test", description: t("Write or fix tests") },
    { kind: "prompt", name: "review", description: t("Review code and list problems") },
    { kind: "prompt", name: "plan", description: t("Make a plan without changing anything") },
    { kind: "prompt", name: "commit", description: t("Commit the changes with a message") },
    { kind: "prompt", name: "why", description: t("Explain the last decision about an action") },
    { kind: "prompt", name: "cost", description: t("Show tokens and cost of this task") },
    { kind: "prompt", name: "crusader", description: t("Apply edits without a review; you can undo them") },
    { kind: "prompt", name: "compact", description: t("Summarize older messages to free context") },
    { kind: "prompt", name: "remember", description: t("Save a text to memory") },
    { kind: "prompt", name: "forget", description: t("Delete the memory that matches a text") },
    { kind: "prompt", name: "memory", description: t("Show memories about a topic") },
    { kind: "action", name: "new", description: t("Start a new task") },
    { kind: "action", name: "undo", description: t("Undo the changes of this task") },
    { kind: "action", name: "model", description: t("Choose a model") },
    { kind: "action", name: "doctor", description: t("Check this machine") },
    { kind: "action", name: "receipts", description: t("Open the receipts") },
  ];
}

/** @param custom the commands of Markdown files, which follow the product's own */
export function matchingCommands(query: string, custom: readonly SlashCommand[] = []): readonly SlashCommand[] {
  const start = query.toLowerCase();
  return [...slashCommands(), ...custom].filter((command) => command.name.startsWith(start));
}

/** Returns the action if the whole text is its command, such as `/new`; otherwise null. */
export function actionIn(text: string): ActionName | null {
  const name = /^\/([a-z]+)\s*$/.exec(text)?.[1];
  const command = slashCommands().find((candidate) => candidate.name === name);
  return command?.kind === "action" ? command.name : null;
}
