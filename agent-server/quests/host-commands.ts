import type { RestoreResult } from "../contract/changes.ts";
import { type ToolPart, type Usage } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { DoctorLine } from "../contract/providers.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import { notice } from "./notices.ts";
import type { QuestStore } from "./quest-store.ts";
import type { StoredQuest } from "./stored-quest.ts";

/** What `/undo` and `/doctor` do, by the modules that own it. */
export interface HostActions {
  /** Restores the files that a task changed. */
  undo(questId: string): Promise<RestoreResult>;
  doctor(): Promise<readonly DoctorLine[]>;
}

const names = ["why", "cost", "undo", "doctor"] as const;
export type HostCommand = (typeof names)[number];

/** The command of a text that the host answers without a model; null for any other text. */
export function hostCommandIn(text: string): HostCommand | null {
  const name = /^\/([a-z]+)\s*$/.exec(text.trim())?.[1];
  return names.find((known) => known === name) ?? null;
}

/** Answers `/why`, `/cost`, `/undo` and `/doctor` in the chat. The model never sees the command or its answer. */
export function createHostCommands(deps: {
  store: QuestStore;
  ledger: Pick<Ledger, "get">;
  redactor: Redactor;
  actions: HostActions | null;
  log: Log;
  /** @throws LancelotError `conflict` when another window runs the quest. */
  requireNotRunningElsewhere: (stored: StoredQuest) => void;
}) {
  const { store, ledger, redactor, actions, log } = deps;
  const running = new Set<Promise<unknown>>();

  function answer(questId: string, command: HostCommand): string | Promise<string> {
    switch (command) {
      case "cost":
        return costText(store.quest(questId));
      case "why":
        return whyText(store, ledger, questId);
      case "undo":
        return requireActions(actions).undo(questId).then(undoText);
      case "doctor":
        return requireActions(actions).doctor().then(doctorText);
    }
  }

  return {
    send(questId: string | undefined, command: HostCommand): { questId: string; messageId: string } {
      if (questId === undefined) throw new LancelotError("invalid_params", `/${command} is about a task. Open or start one first.`);
      const stored = store.stored(questId);
      deps.requireNotRunningElsewhere(stored);
      if (command === "undo" && stored.quest.status === "active")
        throw new LancelotError("conflict", "This task is running. Stop it before you undo its changes.");
      const { id } = store.addMessage({ questId, role: "user", parts: [{ type: "text", text: `/${command}` }] });
      const show = (level: "info" | "warning", text: string): void => {
        if (store.exists(questId)) store.addMessage({ questId, role: "assistant", parts: [notice(level, redactor.text(text).text)] });
      };
      const fail = (error: unknown): void => {
        if (!(error instanceof LancelotError)) log(`could not answer /${command}`, error);
        show("warning", error instanceof LancelotError ? error.message : `/${command} failed. The log has the details.`);
      };
      try {
        const text = answer(questId, command);
        if (typeof text === "string") show("info", text);
        else {
          const work = text.then((found) => show("info", found)).catch(fail);
          running.add(work);
          void work.finally(() => running.delete(work));
        }
      } catch (error) {
        fail(error);
      }
      return { questId, messageId: id };
    },
    async close(): Promise<void> {
      await Promise.all(running);
    },
  };
}

function requireActions(actions: HostActions | null): HostActions {
  if (actions === null) throw new LancelotError("unavailable", "This command is not available here.");
  return actions;
}

function costText({ usage, costUsd, model }: { usage: Usage; costUsd?: number | undefined; model: string | null }): string {
  const figure = (tokens: number): string => tokens.toLocaleString("en-US");
  const cost =
    costUsd === undefined ? "The cost is unknown: no call had a known price." : `Cost: $${costUsd.toFixed(costUsd < 0.1 ? 4 : 2)}.`;
  return [
    cost,
    `Tokens: ${figure(usage.inputTokens)} input (${figure(usage.cachedInputTokens)} cached), ${figure(usage.outputTokens)} output (${figure(usage.reasoningTokens)} reasoning).`,
    ...(model === null ? [] : [`Model: ${model}.`]),
  ].join("\n");
}

/** Explains the last decision about an action of the task by its rules, with the state that its receipt proves. */
function whyText(store: QuestStore, ledger: Pick<Ledger, "get">, questId: string): string {
  const messages = store.messages(questId);
  const last = messages
    .flatMap(({ message }) => message.parts.filter((part): part is ToolPart => part.type === "tool" && part.verdict !== null))
    .at(-1);
  if (last === undefined) return "No action of this task was decided yet.";
  const receipt = last.receiptId === null ? null : ledger.get(last.receiptId);
  const verdicts = { allow: "Allowed", ask: "Required your approval", deny: "Denied" } as const;
  return [
    `${last.title}: ${verdicts[last.verdict ?? "deny"]}${last.tier === null ? "" : ` (${last.tier})`}.`,
    ...last.rules.map(({ id, message }) => `- ${message} (${id})`),
    receipt === null
      ? "It has no receipt."
      : `Receipt ${receipt.id}: ${receipt.actionName}, ${receipt.status}${receipt.errorMessage === null ? "" : `: ${receipt.errorMessage}`}`,
  ].join("\n");
}

function undoText({ restored, conflicts }: RestoreResult): string {
  if (restored.length === 0 && conflicts.length === 0) return "Nothing to undo: this task changed no files.";
  return [
    `Restored ${String(restored.length)} ${restored.length === 1 ? "file" : "files"}${restored.length === 0 ? "." : `: ${restored.slice(0, 20).join(", ")}`}`,
    ...conflicts.slice(0, 20).map(({ path, message }) => `- ${path}: ${message}`),
  ].join("\n");
}

function doctorText(lines: readonly DoctorLine[]): string {
  const failing = lines.filter(({ status }) => status !== "ok");
  if (failing.length === 0) return "All checks passed.";
  return [
    `${String(failing.length)} of ${String(lines.length)} checks need attention:`,
    ...failing.map(({ title, message, nextStep }) => `- ${title}: ${message}${nextStep === null ? "" : ` ${nextStep}`}`),
  ].join("\n");
}
