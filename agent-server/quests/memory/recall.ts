import { LancelotError } from "../../contract/errors.ts";
import type { Trace } from "../../context/context.ts";
import type { Memory } from "../../memory/memory.ts";
import type { ActiveModel } from "../../models/models.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import { notice, addNoticeOnce } from "../notices.ts";
import { userText } from "../quest-page.ts";
import type { QuestStore } from "../quest-store.ts";

/** Tokens of what is remembered for a model with little room. */
const smallTokens = 200;
/** For the others this share of their window, where the owner's settings do not say less. */
const windowShare = 16;
/** Of the owner's message no more is looked for: its beginning and its end. UTF-16 units. */
const objective = { head: 3_000, tail: 1_000 };
/** Tasks whose last text is held, so that the owner sees what stood in the prompt. */
const held = 100;

const failedWords = "What is remembered could not be looked up, so this task goes on without it.";

/** What a run is told of what is remembered: compiled once for each kind of model it uses, so that its prompts begin alike. */
export type RunMemory = (model: Pick<ActiveModel, "small" | "contextWindow">) => string;

export interface Recall {
  /** To be called when a run begins: the objective is the owner's last message then. What is said later counts with the next run. */
  begin(questId: string, trace: Trace): RunMemory;
  /** What stood in the task's last prompt; empty before its first. */
  last(questId: string): string;
}

/** Memory before planning (Y5, Y7). A look that fails is logged, told once, recorded, and never stops a task. */
export function createRecall(deps: {
  memory: Pick<Memory, "enabled" | "compile"> | undefined;
  store: QuestStore;
  ledger: Pick<Ledger, "record">;
  log: Log;
}): Recall {
  const { memory, store, ledger } = deps;
  const lastTexts = new Map<string, string>();

  function compile(questId: string, wished: string, small: boolean, window: number, trace: Trace): string {
    if (memory?.enabled() !== true) return "";
    try {
      const compiled = memory.compile({
        objective: wished,
        questId,
        mode: store.quest(questId).mode,
        maxTokens: small ? smallTokens : Math.max(smallTokens, Math.floor(window / windowShare)),
        chat: { marker: store.marker(questId), small },
        parentId: trace.parentId,
      });
      return compiled.includedItemIds.length === 0 ? "" : compiled.renderedPrompt.trim();
    } catch (error) {
      // Switched off in between.
      if (error instanceof LancelotError && error.code === "disabled") return "";
      deps.log("what is remembered could not be compiled", error);
      ledger.record(
        { actionType: "system", actionName: "memory.recall", inputs: { small }, riskTier: "T0", ...trace },
        { status: "failure", errorMessage: error instanceof LancelotError ? error.message : failedWords },
      );
      addNoticeOnce(store, questId, notice("warning", failedWords, "show_log"));
      return "";
    }
  }

  return {
    begin(questId, trace) {
      const wished = objectiveOf(store, questId);
      const texts = new Map<boolean, string>();
      return ({ small, contextWindow }) => {
        let text = texts.get(small);
        if (text === undefined) {
          text = compile(questId, wished, small, contextWindow, trace);
          texts.set(small, text);
        }
        lastTexts.delete(questId);
        lastTexts.set(questId, text);
        for (const [oldest] of lastTexts) {
          if (lastTexts.size <= held) break;
          lastTexts.delete(oldest);
        }
        return text;
      };
    },
    last: (questId) => (memory?.enabled() === true ? (lastTexts.get(questId) ?? "") : ""),
  };
}

/** What a run is about: the owner's last message, and the task's title where the message does not begin with it. */
export function objectiveOf(store: Pick<QuestStore, "messages" | "quest">, questId: string): string {
  const asked = store
    .messages(questId)
    .findLast(({ message, turn }) => message.role === "user" && turn?.kind === "user" && userText(message).trim() !== "");
  const words = asked === undefined ? "" : userText(asked.message).trim();
  const bounded =
    words.length <= objective.head + objective.tail ? words : `${words.slice(0, objective.head)}\n…\n${words.slice(-objective.tail)}`;
  const { title } = store.quest(questId);
  return (words.startsWith(title.replace(/…$/, "")) ? bounded : `${title}\n${bounded}`).toWellFormed();
}
