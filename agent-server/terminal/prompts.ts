import { createInterface } from "node:readline/promises";

/** Asks the one at the terminal; questions wait for each other. */
export interface Prompts {
  /** True when there is someone to ask. */
  readonly present: boolean;
  /** @returns what was typed, trimmed; null when the terminal closed */
  ask(question: string): Promise<string | null>;
  /** Asks until one of `keys` is typed. @returns it, or null when the terminal closed */
  choose<K extends string>(question: string, keys: readonly K[]): Promise<K | null>;
}

export function createPrompts(present: boolean): Prompts {
  let last: Promise<unknown> = Promise.resolve();
  const ask = (question: string): Promise<string | null> => {
    const answer = last.then(async () => {
      if (!present) return null;
      const reader = createInterface({ input: process.stdin, output: process.stdout });
      const closed = new Promise<null>((resolve) => reader.once("close", () => resolve(null)));
      try {
        const typed = await Promise.race([reader.question(question), closed]);
        return typed?.trim() ?? null;
      } finally {
        reader.close();
      }
    });
    last = answer.catch(() => null);
    return answer;
  };
  return {
    present,
    ask,
    async choose(question, keys) {
      for (;;) {
        const typed = await ask(question);
        if (typed === null) return null;
        const found = keys.find((key) => key === typed.toLowerCase());
        if (found !== undefined) return found;
      }
    },
  };
}
