import { unfinishedFrom } from "./placeholder-format.ts";
import type { QuestPlaceholders } from "./types.ts";

/** Takes a text that comes in pieces, and gives it on with personal data in its place; never half a placeholder. */
export interface Restorer {
  add(piece: string): string;
  /** What was held back: nothing more comes. */
  end(): string;
}

export function createRestorer(of: Pick<QuestPlaceholders, "restorePersonal">): Restorer {
  let held = "";
  return {
    add(piece) {
      const text = held + piece;
      const from = unfinishedFrom(text);
      held = text.slice(from);
      return of.restorePersonal(text.slice(0, from));
    },
    end() {
      const rest = of.restorePersonal(held);
      held = "";
      return rest;
    },
  };
}
