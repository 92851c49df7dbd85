import { LancelotError } from "../../contract/errors.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Memory, RecallQuests } from "../types.ts";

/** Tokens of memory for a model with a small window. */
const smallTokens = 200;
/** Larger models give memory this fraction (1/n) of their window, within the limits of config/memory.yaml. */
const windowShare = 16;
/** Tasks whose last compiled text is kept, so that the context view can show it. */
const maxTexts = 100;

const failedMessage = "Memory could not be searched, so this task continues without it.";

/** The memory section of a run's prompts. It is compiled once for small and once for other models, so that prompts share a prefix. */
export type RunMemory = (model: { readonly small: boolean; readonly contextWindow: number }) => string;

export interface QuestRecall {
  /** Called when a run begins: the objective is the owner's last message at that time. */
  begin(questId: string, of: { readonly questId: string | null; readonly parentId: string | null }): RunMemory;
  /** The memory section of the quest's last prompt; empty before its first. */
  last(questId: string): string;
}

/** Recall for quests (Y5, Y7). A failure is logged, recorded and shown once, and never stops a task. */
export function createQuestRecall(deps: {
  memory: Pick<Memory, "enabled" | "compile"> | undefined;
  quests: RecallQuests;
  ledger: Pick<Ledger, "record">;
  log: Log;
}): QuestRecall {
  const { memory, quests, ledger } = deps;
  const lastTexts = new Map<string, string>();

  function compile(
    questId: string,
    objective: string,
    { small, contextWindow }: Parameters<RunMemory>[0],
    of: Parameters<QuestRecall["begin"]>[1],
  ): string {
    if (memory?.enabled() !== true) return "";
    try {
      const compiled = memory.compile({
        ...{ objective, questId, mode: quests.mode(questId), parentId: of.parentId },
        maxTokens: small ? smallTokens : Math.max(smallTokens, Math.floor(contextWindow / windowShare)),
        chat: { marker: quests.marker(questId), small },
      });
      return compiled.includedItemIds.length === 0 ? "" : compiled.renderedPrompt.trim();
    } catch (error) {
      // Memory may be switched off at any time.
      if (error instanceof LancelotError && error.code === "disabled") return "";
      deps.log("memory could not be compiled", error);
      ledger.record(
        { actionType: "system", actionName: "memory.recall", inputs: { small }, riskTier: "T0", ...of },
        { status: "failure", errorMessage: error instanceof LancelotError ? error.message : failedMessage },
      );
      quests.warnOnce(questId, failedMessage);
      return "";
    }
  }

  return {
    begin(questId, of) {
      const objective = quests.objective(questId);
      const texts = new Map<boolean, string>();
      return (model) => {
        const text = texts.get(model.small) ?? compile(questId, objective, model, of);
        texts.set(model.small, text);
        lastTexts.delete(questId);
        lastTexts.set(questId, text);
        for (const oldest of [...lastTexts.keys()].slice(0, -maxTexts)) lastTexts.delete(oldest);
        return text;
      };
    },
    last: (questId) => (memory?.enabled() === true ? (lastTexts.get(questId) ?? "") : ""),
  };
}
