import type { ToolPart } from "../contract/chat.ts";
import type { Governance } from "../governance/governance.ts";
import { userText } from "./quest-page.ts";
import type { QuestStore } from "./quest-store.ts";

/** The last text of the model in a quest; empty when it wrote none. */
export function answerText(store: Pick<QuestStore, "messages">, questId: string): string {
  const answers = store.messages(questId).flatMap(({ message }) => (message.role === "assistant" ? [userText(message)] : []));
  return answers.findLast((text) => text.trim() !== "") ?? "";
}

/**
 * The test commands of a quest whose last run did not succeed, by its tool calls and not by what the model says. A command that was denied
 * did not run.
 */
export function failedTests(store: Pick<QuestStore, "messages">, governance: Pick<Governance, "commandNeeds">, questId: string): string[] {
  const last = new Map<string, boolean>();
  for (const { message } of store.messages(questId))
    for (const part of message.parts) {
      const command = part.type === "tool" && part.tool === "run_command" ? part.args["command"] : undefined;
      if (part.type !== "tool" || typeof command !== "string" || part.status === "denied") continue;
      if (governance.commandNeeds(command, undefined).tests) last.set(command, hasPassed(part));
    }
  return [...last].flatMap(([command, passed]) => (passed ? [] : [command]));
}

/** Tests that still ran in the background when the quest ended have shown nothing. */
function hasPassed({ status, command }: ToolPart): boolean {
  return status === "success" && command?.background === undefined;
}
