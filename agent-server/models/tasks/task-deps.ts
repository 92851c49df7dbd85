import type { Embedder } from "../local/embedding.ts";
import type { TaskName } from "../local/catalog.ts";
import type { Provider } from "../providers/types.ts";
import type { PiiDetector } from "../../security/security.ts";
import { estimateTokens } from "./estimate.ts";
import { type TaskModel, unfitFor } from "./ask-model.ts";
import type { IntentWeights } from "./intent-classifier.ts";
import type { Way } from "./task-runner.ts";

/** What the tasks are made of. */
export interface TaskParts {
  embedder: Pick<Embedder, "state" | "warm" | "embed" | "sha256">;
  /** Of the classifier, read on first use; null where the file is not what it should be. */
  weights: () => IntentWeights | null;
  stream: Provider["stream"];
  pii: PiiDetector;
  contextWindow: () => number;
  /** The local model as a way to do a task, as far as it is the same for all. `quick`: not worth loading it. */
  modelWay(task: TaskName, work: { quick: boolean; text: string }): Pick<Way<never>, "method" | "model" | "unfit">;
}

/** Tokens that question and answer take besides the text. */
const room = 600;

export function createParts(
  deps: Pick<TaskParts, "embedder" | "weights" | "stream" | "pii"> & { model: () => TaskModel | null },
): TaskParts {
  return {
    ...deps,
    contextWindow: () => deps.model()?.contextWindow ?? 0,
    modelWay(task, { quick, text }) {
      const model = deps.model();
      const unfit = unfitFor(task, model, { loaded: quick, tokens: estimateTokens(text) + room });
      return { method: "model", model: model?.file ?? "a local model", unfit };
    },
  };
}
