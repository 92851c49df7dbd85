import type { Message, Quest } from "../contract/chat.ts";
import type { EditMode } from "../contract/governance.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { Params, Result } from "../contract/table.ts";
import type { AnswerMessage, AnswerQuery } from "./answer-messages.ts";
import { type ContextService } from "./context/context-service.ts";

/** Runs tasks from a message to an answer. Every step is persisted before the next one begins. */
export interface Quests {
  /** @param owner false for a message that came without the owner token; the same for `steer` and `run` */
  send(params: Params<"chat.send">, owner?: boolean): Result<"chat.send">;
  cancel(questId: string): Promise<Quest>;
  steer(questId: string, text: string, owner?: boolean): { messageId: string };
  /** Answers an open `ask_owner` call. */
  answer(questId: string, callId: string, answer: string): void;
  /** Sends a message and waits until the quest ends or needs the user. */
  run(params: Params<"chat.run"> & { mode?: Quest["mode"] }, signal: AbortSignal, owner?: boolean): Promise<Result<"chat.run">>;
  /** Lists and edits the context of a quest. */
  readonly context: ContextService;
  /** Lists the custom slash commands. */
  commands(): Result<"commands.list">;
  list(params: Params<"quests.list">): Result<"quests.list">;
  get(id: string): { quest: Quest; messages: Message[] };
  /** Finished answers and the reasoning before them, newest first. */
  answers(query: AnswerQuery): AnswerMessage[];
  resume(id: string): Quest;
  /** Starts a run of a quest in normal mode, whose plan was approved. @throws LancelotError `conflict` while it runs */
  runPlan(id: string, reason: string): Quest;
  isRunning(id: string): boolean;
  rename(id: string, title: string): Quest;
  /** Sets the lane, provider or model of a quest; null lets the router choose. */
  /** @throws LancelotError `not_found`; `conflict` when it runs in another window, or for `auto` when the soul wants each edit reviewed */
  edits(id: string, edits: EditMode | null): Quest;
  /** What the owner chose for the edits of a quest; null when the posture decides, and for a quest that does not exist. */
  editsOf(id: string): EditMode | null;
  override(id: string, override: ModelOverride | null): Promise<Quest>;
  exportMarkdown(id: string): string;
  delete(id: string): Promise<void>;
  /** The task of a sub-task; null for a task of the user, and for a deleted one. */
  parentOf(questId: string): string | null;
  /** Null for a deleted quest. */
  titleOf(questId: string): string | null;
  /** True while the quest runs, waits, or can be resumed after an interruption. */
  isOpen(questId: string): boolean;
  /** Marks the quests of crashed hosts `interrupted`. Call it once at start. @returns their number */
  reconcile(): number;
  /** Starts tasks that wait for their turn, after `maxRunningTasks` was raised. */
  refreshQueue(): void;
  /** Why the owner's config/context.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  /** Stops all runs; their quests become `interrupted`. */
  close(): Promise<void>;
}
