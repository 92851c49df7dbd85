/** Model turns of one run; after them the user must resume the task. */
export const maxTurns = 50;
/** Input and output tokens of a quest; after them the user must resume the task, which allows as many more. */
export const maxQuestTokens = 1_000_000;
/** Tool calls of one answer that are made; the model gets the others back. */
export const maxCallsPerAnswer = 100;
/** Tool calls of one run; after them the user must resume the task. */
export const maxCalls = 1_000;
/** Questions and approval requests of one run; after them the user must resume the task. */
export const maxPrompts = 50;
/** Identical failures of the same call that stop the loop. */
export const maxSameFailures = 3;

/** Counts identical failures of one run. */
export function createFailureCounter(): { count(tool: string, args: unknown, error: string): number } {
  const seen = new Map<string, number>();
  return {
    count(tool, args, error) {
      const key = JSON.stringify([tool, args, error]);
      const times = (seen.get(key) ?? 0) + 1;
      seen.set(key, times);
      return times;
    },
  };
}
