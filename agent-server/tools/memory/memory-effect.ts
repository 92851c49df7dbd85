import type { Answer, Effect } from "../tool.ts";
import type { MemoryAction } from "./memory-action.ts";
import { verifyAfter } from "./verify-commit.ts";

/** A memory action as the effect of a tool, with what the tool answers. */
export function toEffect<T>(action: MemoryAction<T>, answer: (value: T) => string): Effect {
  let made: { value: T } | null = null;
  return {
    kind: "effect",
    steps: action.steps,
    question: action.question,
    touches: [],
    run: async ({ receiptId }) => {
      made = { value: await action.run(receiptId) };
      const outputs = action.outputs(made.value);
      const value: Answer = { kind: "answer", text: answer(made.value), outputs };
      return { value, outputs };
    },
    ...(action.verify === undefined ? {} : { verify: () => Promise.resolve(made === null ? null : verifyAfter(action, made.value)) }),
  };
}
