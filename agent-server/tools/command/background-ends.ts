import type { BackgroundCommand } from "../../contract/background.ts";
import { stateText } from "./background-run.ts";
import type { BackgroundEnd } from "./background-types.ts";

/** The last lines that the model receives, and their units (UTF-16). */
const lines = 15;
const units = 1_500;
/** Ends that are kept for tasks that do not go on. */
const maxKept = 100;

/** Ends of background commands that the model did not bring about and has not heard of. */
export function createBackgroundEnds(): {
  /** @param output redacted and plain */
  add(command: BackgroundCommand, output: string): void;
  /** The model has read that it ended. */
  known(id: string): void;
  take(questId: string): BackgroundEnd[];
} {
  const ends = new Map<string, BackgroundEnd & { readonly questId: string }>();
  return {
    add(command, output) {
      const { id, questId, end } = command;
      // The model knows what it stopped itself, and nobody continues a task that ends with its commands.
      if (questId === null || end === null || ["model", "task", "host"].includes(end.reason)) return;
      ends.set(id, { id, questId, state: stateText(command), output: lastLines(output) });
      for (const oldest of [...ends.keys()].slice(0, -maxKept)) ends.delete(oldest);
    },
    known: (id) => void ends.delete(id),
    take(questId) {
      const own = [...ends.values()].filter((end) => end.questId === questId);
      for (const { id } of own) ends.delete(id);
      return own.map(({ id, state, output }) => ({ id, state, output }));
    },
  };
}

/** Whole lines, unless the last one alone is too long. */
function lastLines(output: string): string {
  const text = output.trimEnd().split("\n").slice(-lines).join("\n");
  if (text.length <= units) return text;
  const cut = text.slice(-units);
  const firstEnd = cut.indexOf("\n");
  return firstEnd === -1 ? cut : cut.slice(firstEnd + 1);
}
