import type { ChangeReview } from "../workspace/workspace.ts";

/** True while hunks of this quest await review. */
export function hasOpenChanges(changes: ChangeReview, questId: string): boolean {
  return changes.list({ questId, open: true, limit: 1 }).length > 0;
}
