import { unfinishedFrom } from "./placeholder-format.ts";
import type { QuestPlaceholders } from "./types.ts";

/** Restores personal data in streamed text. Holds back an incomplete placeholder until it is complete. */
export interface Restorer {
  add(piece: string): string;
  /** Returns the text that was held back at the end of the stream. */
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
