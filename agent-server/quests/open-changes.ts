import type { ChangeReview } from "../workspace/workspace.ts";

/** True while the owner has hunks of this quest to decide. */
export function hasOpenChanges(changes: ChangeReview, questId: string): boolean {
  return changes.list({ questId, open: true, limit: 1 }).length > 0;
}
