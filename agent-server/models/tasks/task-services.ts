import type { Embedder } from "../local/embedding.ts";
import type { TaskName } from "../local/catalog.ts";
import type { Provider } from "../providers/types.ts";
import type { PiiDetector } from "../../security/security.ts";
import { estimateTokens } from "./estimate.ts";
import { type TaskModel, unfitFor } from "./ask-model.ts";
import type { IntentWeights } from "./intent-classifier.ts";
import type { ModelMethod } from "./task-runner.ts";

/** The dependencies of the tasks. */
export interface TaskServices {
  embedder: Pick<Embedder, "state" | "warm" | "embed" | "sha256">;
  /** Weights of the classifier, read on first use; null for an invalid file. */
  weights: () => IntentWeights | null;
  stream: Provider["stream"];
  pii: PiiDetector;
  contextWindow: () => number;
  /** The local model as a method for a task. `quick`: the task does not wait for the model to load. */
  modelMethod(task: TaskName, work: { quick: boolean; text: string }): Pick<ModelMethod<never>, "method" | "model" | "unfit">;
}

/** Tokens of question and answer besides the text. */
const frameTokens = 600;

export function createTaskServices(
  deps: Pick<TaskServices, "embedder" | "weights" | "stream" | "pii"> & { model: () => TaskModel | null },
): TaskServices {
  return {
    ...deps,
    contextWindow: () => deps.model()?.contextWindow ?? 0,
    modelMethod(task, { quick, text }) {
      const model = deps.model();
      const unfit = unfitFor(task, model, { loaded: quick, tokens: estimateTokens(text) + frameTokens });
      return { method: "model", model: model?.file ?? "a local model", unfit };
    },
  };
}
