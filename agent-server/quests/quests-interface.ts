import type { Message, Quest } from "../contract/chat.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { Params, Result } from "../contract/table.ts";
import { type ContextService } from "./context/context-service.ts";

/** Quests: from the owner's words to an answer, step by step, persisted at each. */
export interface Quests {
  /** `owner`: false for what came without the owner token; so for `steer` and `run`. */
  send(params: Params<"chat.send">, owner?: boolean): Result<"chat.send">;
  cancel(questId: string): Promise<Quest>;
  steer(questId: string, text: string, owner?: boolean): { messageId: string };
  /** The owner's answer to an open ask_owner. */
  answer(questId: string, callId: string, answer: string): void;
  /** Sends and waits until the quest ends or needs the owner. */
  run(params: Params<"chat.run">, signal: AbortSignal, owner?: boolean): Promise<Result<"chat.run">>;
  /** What tasks' prompts are made of, by the owner's hand. */
  readonly context: ContextService;
  list(params: Params<"quests.list">): Result<"quests.list">;
  get(id: string): { quest: Quest; messages: Message[] };
  resume(id: string): Quest;
  rename(id: string, title: string): Quest;
  /** The owner's choice of lane, provider or model for one task; null gives it back to the router. */
  override(id: string, override: ModelOverride | null): Promise<Quest>;
  exportMarkdown(id: string): string;
  delete(id: string): Promise<void>;
  /** Null when it was deleted. */
  titleOf(questId: string): string | null;
  /** True while the quest runs, waits or can be taken up again after an interruption. */
  isOpen(questId: string): boolean;
  /** Marks the quests of dead hosts `interrupted`; called once at start. Returns how many. */
  reconcile(): number;
  /** Stops everything; running quests become `interrupted`. */
  close(): Promise<void>;
}
