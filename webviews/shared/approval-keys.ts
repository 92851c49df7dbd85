import type { ApprovalDecision } from "../../agent-server/contract/governance.ts";

/** Time in milliseconds after a card appears during which it ignores keys, so that typing does not answer it. */
export const ignoreKeysMs = 600;

export interface ApprovalKey {
  readonly key: string;
  readonly modified: boolean;
  readonly repeat: boolean;
  /** True while the user types in a field of the card, or chooses in a form of it. */
  readonly inField: boolean;
  readonly msSinceShown: number;
}

/** Maps a key to an answer. Enter and Space return null, because they press the focused button. */
export function decisionForKey({ key, modified, repeat, inField, msSinceShown }: ApprovalKey): ApprovalDecision | null {
  if (modified || repeat || inField || msSinceShown < ignoreKeysMs) return null;
  switch (key.toLowerCase()) {
    case "a":
      return "allow_once";
    case "t":
      return "allow_quest";
    case "w":
      return "allow_workspace";
    case "d":
      return "deny";
    default:
      return null;
  }
}
