import type { Tools } from "../tools/tools.ts";

/** True while the owner has hunks of this quest to decide. */
export function hasOpenChanges({ tools }: { readonly tools: Pick<Tools, "changes"> }, questId: string): boolean {
  return tools.changes.list({ questId, open: true, limit: 1 }).length > 0;
}
