import type { ApprovalDecision } from "../../agent-server/contract/governance.ts";

/** Milliseconds for which a new card takes no keys, so that a word being typed does not answer it. */
export const deafMs = 600;

export interface ApprovalKey {
  readonly key: string;
  readonly modified: boolean;
  readonly repeat: boolean;
  /** True while the owner writes in a field of the card. */
  readonly inField: boolean;
  readonly msSinceShown: number;
}

/** The answer a key gives on an approval card; Enter and Space give none, they press the button that has the focus. */
export function decisionForKey({ key, modified, repeat, inField, msSinceShown }: ApprovalKey): ApprovalDecision | null {
  if (modified || repeat || inField || msSinceShown < deafMs) return null;
  switch (key.toLowerCase()) {
    case "a":
      return "allow_once";
    case "t":
      return "allow_quest";
    case "d":
      return "deny";
    default:
      return null;
  }
}
