import type { Interface } from "node:readline";
import { promptText, terminal } from "./output.ts";

/** Asks questions at the terminal, one after another. */
export interface Prompts {
  /** True when a user is at the terminal. */
  readonly present: boolean;
  /** @returns the trimmed input; null when the terminal closed */
  ask(question: string): Promise<string | null>;
  /** Asks until the user types one of `keys`. @returns the key, or null when the terminal closed */
  choose<K extends string>(question: string, keys: readonly K[]): Promise<K | null>;
  close(): void;
}

/** Uses one reader for all questions, so that text typed ahead answers the next one. */
export function createPrompts(present: boolean): Prompts {
  let reader: Interface | null = null;
  const typed: (string | null)[] = [];
  let wake: (() => void) | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const open = (): Interface => {
    if (reader !== null) return reader;
    reader = terminal.openReader();
    reader.on("line", (line) => {
      typed.push(line);
      wake?.();
    });
    // The terminal closed: every further question gets null.
    reader.on("close", () => {
      typed.push(null);
      wake?.();
    });
    // Readline keeps the terminal in raw mode, so Ctrl+C arrives here instead of as a signal.
    reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    return reader;
  };

  const nextLine = async (question: string): Promise<string | null> => {
    if (!present) return null;
    const from = open();
    from.setPrompt(promptText(question));
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
