import type { Effect, Answer } from "../tool.ts";
import { type MemoryAct } from "./memory-action.ts";
import { lookAfter } from "./verify-commit.ts";

/** An act as the effect of a tool, with what the tool answers. */
export function asEffect<T>(act: MemoryAct<T>, answer: (value: T) => string): Effect {
  let made: { value: T } | null = null;
  return {
    kind: "effect",
    steps: act.steps,
    question: act.question,
    touches: [],
    run: async ({ receiptId }) => {
      made = { value: await act.run(receiptId) };
      const outputs = act.outputs(made.value);
      const value: Answer = { kind: "answer", text: answer(made.value), outputs };
      return { value, outputs };
    },
    ...(act.verify === undefined ? {} : { verify: () => Promise.resolve(made === null ? null : lookAfter(act, made.value)) }),
  };
}
