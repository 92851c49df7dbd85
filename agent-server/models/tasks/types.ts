import type { IntentResult } from "../../contract/intent.ts";
import type { Params } from "../../contract/table.ts";
import type { PiiMatch } from "../../security/security.ts";

/** The quest and parent receipt of a task. */
export interface TaskContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
}

/** How a task was done: by a model on this machine, or by rules. The receipt contains it with the reason. */
export type TaskMethod = "embedding" | "model" | "rules";

/** The local tasks (M5). None of them fails without a model, since each has rules. */
export interface LocalTasks {
  classifyIntent(request: Params<"intent.classify">, context: TaskContext): Promise<IntentResult>;
  /**
   * Extracts the data of a JSON Schema from a text and validates it.
   * @throws LancelotError `unavailable` when neither model nor rules find it
   */
  extractJson(text: string, schema: Record<string, unknown>, context: TaskContext): Promise<{ value: unknown; method: TaskMethod }>;
  /** A summary of at most `maxTokens` tokens. */
  summarize(text: string, maxTokens: number, context: TaskContext): Promise<{ text: string; method: TaskMethod }>;
  /** Personal data in a text: by rules, and names and places by a model. */
  redact(text: string, context: TaskContext): Promise<{ matches: PiiMatch[]; method: TaskMethod }>;
}
