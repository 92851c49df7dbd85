import type { Handlers } from "../../contract/table.ts";
import type { PiiDetector } from "../../security/security.ts";
import type { Embedder } from "../local/embedding.ts";
import type { Provider } from "../providers/types.ts";
import type { TaskModel } from "./ask-model.ts";
import { extractTask } from "./extract.ts";
import { classifyTask } from "./intent.ts";
import { type IntentWeights, readIntentWeights } from "./intent-classifier.ts";
import { redactTask } from "./redact.ts";
import { createRun, type RunDeps } from "./task-runner.ts";
import { summarizeTask } from "./summarize.ts";
import { createTaskServices } from "./task-services.ts";
import type { LocalTasks } from "./types.ts";

export type { TaskModel } from "./ask-model.ts";
export type { LocalTasks, TaskContext } from "./types.ts";

export interface TasksDeps extends RunDeps {
  /** The shipped `config/` folder, with the classifier's weights. */
  configDir: string;
  embedder: Pick<Embedder, "state" | "warm" | "embed" | "sha256">;
  /** The local model for tasks; null without one. */
  model: () => TaskModel | null;
  /** Streams the local model. */
  stream: Provider["stream"];
  pii: PiiDetector;
}

/** The local tasks (M5, A1): by a suitable model on this machine, otherwise by rules. */
export function createTasks(deps: TasksDeps): LocalTasks {
  const run = createRun(deps);
  let weights: IntentWeights | null | undefined;
  const parts = createTaskServices({
    ...deps,
    weights: () => {
      try {
        weights ??= readIntentWeights(deps.configDir);
      } catch {
        // A damaged installation: rules are used, and every receipt says why.
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

/** The handlers of local tasks. */
export function tasksHandlers(tasks: LocalTasks): Pick<Handlers, "intent.classify"> {
  return {
    "intent.classify": (request, call) => tasks.classifyIntent(request, { questId: null, parentId: null, signal: call.signal }),
  };
}
