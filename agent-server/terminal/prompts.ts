import { createInterface, type Interface } from "node:readline";

/** Asks the one at the terminal; questions wait for each other. */
export interface Prompts {
  /** True when there is someone to ask. */
  readonly present: boolean;
  /** @returns what was typed, trimmed; null when the terminal closed */
  ask(question: string): Promise<string | null>;
  /** Asks until one of `keys` is typed. @returns it, or null when the terminal closed */
  choose<K extends string>(question: string, keys: readonly K[]): Promise<K | null>;
  close(): void;
}

/** One reader for all questions: what was typed ahead belongs to the next one. */
export function createPrompts(present: boolean): Prompts {
  let reader: Interface | null = null;
  const typed: (string | null)[] = [];
  let wake: (() => void) | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const open = (): Interface => {
    if (reader !== null) return reader;
    reader = createInterface({ input: process.stdin, output: process.stdout });
    reader.on("line", (line) => {
      typed.push(line);
      wake?.();
    });
    // Closed for good: every question from now on is answered by nobody.
    reader.on("close", () => {
      typed.push(null);
      wake?.();
    });
    // The terminal is raw while it is read, so Ctrl+C comes here instead of as a signal.
    reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    return reader;
  };

  const nextLine = async (question: string): Promise<string | null> => {
    if (!present) return null;
    const from = open();
    from.setPrompt(question);
    from.prompt();
    while (typed.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    if (typed[0] === null) return null;
    return typed.shift()?.trim() ?? null;
  };

  const ask = (question: string): Promise<string | null> => {
    const answer = last.then(() => nextLine(question));
    last = answer.catch(() => null);
    return answer;
  };
  return {
    present,
    ask,
    async choose(question, keys) {
      for (;;) {
        const answer = await ask(question);
        if (answer === null) return null;
        const found = keys.find((key) => key === answer.toLowerCase());
        if (found !== undefined) return found;
      }
    },
    close: () => reader?.close(),
  };
}
