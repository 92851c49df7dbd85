import * as vscode from "vscode";
import type { CoreBlockName, MemoryItem, MemoryTarget, MemoryTier } from "../../agent-server/contract/memory.ts";

/** Label of an item's core block or tier. */
export function placeLabel({ tier, block }: Pick<MemoryItem, "tier" | "block">): string {
  switch (block) {
    case "persona":
      return vscode.l10n.t("Persona");
    case "human":
      return vscode.l10n.t("About you");
    case "operating_rules":
      return vscode.l10n.t("Working rules");
    case "mission":
      return vscode.l10n.t("Mission");
    case "workspace_state":
      return vscode.l10n.t("This workspace");
    case null:
      return tierLabel(tier);
  }
}

function tierLabel(tier: MemoryItem["tier"]): string {
  switch (tier) {
    case "core":
      return vscode.l10n.t("Core");
    case "working":
      return vscode.l10n.t("Working memory");
    case "episodic":
      return vscode.l10n.t("Episodes");
    case "archival":
      return vscode.l10n.t("Archive");
  }
}

/** Label of an edit's target. */
export function targetLabel(target: MemoryTarget): string {
  const [tier, block] = target.split(":") as [MemoryTier, CoreBlockName?];
  return placeLabel({ tier, block: block ?? null });
}
