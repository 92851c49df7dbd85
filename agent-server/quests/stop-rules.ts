/** Model turns one request may take before the owner is asked to go on. */
export const maxTurns = 50;
/** Tokens (in and out) a quest may use before the owner is asked to go on; going on allows as many again. */
export const maxQuestTokens = 1_000_000;
/** The same call failing the same way this often stops the loop. */
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
