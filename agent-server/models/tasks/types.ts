import type { IntentResult } from "../../contract/intent.ts";
import type { Params } from "../../contract/table.ts";
import type { PiiMatch } from "../../security/security.ts";

/** Under which quest and receipt a task runs. */
export interface TaskContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
}

/** What did a task: a model on this machine, or the rules of the host. The receipt says the same, and why. */
export type TaskMethod = "embedding" | "model" | "rules";

/** The tasks of the local lanes (M5). None of them fails for want of a model: each has its rules. */
export interface LocalTasks {
  classifyIntent(request: Params<"intent.classify">, context: TaskContext): Promise<IntentResult>;
  /**
   * What a JSON Schema asks for, taken from a text. Checked against the schema before it is given back.
   * @throws LancelotError `unavailable` when neither model nor rules find it.
   */
  extractJson(text: string, schema: Record<string, unknown>, context: TaskContext): Promise<{ value: unknown; method: TaskMethod }>;
  /** A summary of at most `maxTokens` tokens. */
  summarize(text: string, maxTokens: number, context: TaskContext): Promise<{ text: string; method: TaskMethod }>;
  /** Personal data in a text: what rules find, and names and places a model finds besides. */
  redact(text: string, context: TaskContext): Promise<{ matches: PiiMatch[]; method: TaskMethod }>;
}
