import type { IntentResult } from "../../contract/intent.ts";
import type { Handlers, Params } from "../../contract/table.ts";
import type { PiiDetector, PiiMatch } from "../../security/security.ts";
import type { Embedder } from "../local/embedding.ts";
import type { Provider } from "../providers/provider.ts";
import type { TaskModel } from "./ask-model.ts";
import { extractTask } from "./extract.ts";
import { classifyTask } from "./intent.ts";
import { type IntentWeights, readIntentWeights } from "./intent-classifier.ts";
import { redactTask } from "./redact.ts";
import { createRun, type RunDeps } from "./run.ts";
import { summarizeTask } from "./summarize.ts";
import { createParts } from "./task-parts.ts";

export type { TaskModel } from "./ask-model.ts";

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

export interface TasksDeps extends RunDeps {
  /** The shipped `config/` folder, with the classifier's weights. */
  configDir: string;
  embedder: Pick<Embedder, "state" | "warm" | "embed" | "sha256">;
  /** The local model that could do tasks; null while there is none. */
  model: () => TaskModel | null;
  /** How the local model writes. */
  stream: Provider["stream"];
  pii: PiiDetector;
}

/** The tasks of the local lanes (M5, A1): a model on this machine where one is ready and good enough, else the rules of the host. */
export function createTasks(deps: TasksDeps): LocalTasks {
  const run = createRun(deps);
  let weights: IntentWeights | null | undefined;
  const parts = createParts({
    ...deps,
    weights: () => {
      try {
        weights ??= readIntentWeights(deps.configDir);
      } catch {
        // A product that was taken apart: the rules stand in, and every receipt says why.
        weights = null;
      }
      return weights;
    },
  });
  return {
    classifyIntent: async (request, context) => (await run(classifyTask(parts, request), context)).value,
    async extractJson(text, schema, context) {
      const { value, method } = await run(extractTask(parts, text, schema), context);
      return { value: value.found, method };
    },
    async summarize(text, maxTokens, context) {
      const { value, method } = await run(summarizeTask(parts, text, maxTokens), context);
      return { text: value, method };
    },
    async redact(text, context) {
      const { value: matches, method } = await run(redactTask(parts, text), context);
      return { matches, method };
    },
  };
}

/** The methods of the contract that are this room's. */
export function tasksHandlers(tasks: LocalTasks): Pick<Handlers, "intent.classify"> {
  return {
    "intent.classify": (request, call) => tasks.classifyIntent(request, { questId: null, parentId: null, signal: call.signal }),
  };
}
