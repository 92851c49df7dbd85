import type { Message, Quest } from "../contract/chat.ts";
import type { Params, Result } from "../contract/table.ts";

/** Quests: from the owner's words to an answer, step by step, persisted at each. */
export interface Orchestrator {
  send(params: Params<"chat.send">): Result<"chat.send">;
  cancel(questId: string): Promise<Quest>;
  steer(questId: string, text: string): { messageId: string };
  /** The owner's answer to an open ask_owner. */
  answer(questId: string, callId: string, answer: string): void;
  /** Sends and waits until the quest ends or needs the owner. */
  run(params: Params<"chat.run">, signal: AbortSignal): Promise<Result<"chat.run">>;
  list(params: Params<"quests.list">): Result<"quests.list">;
  get(id: string): { quest: Quest; messages: Message[] };
  resume(id: string): Quest;
  rename(id: string, title: string): Quest;
  exportMarkdown(id: string): string;
  delete(id: string): Promise<void>;
  /** Marks the quests of dead hosts `interrupted`; called once at start. Returns how many. */
  reconcile(): number;
  /** Stops everything; running quests become `interrupted`. */
  close(): Promise<void>;
}
