import * as vscode from "vscode";
import type { CoreBlockName, MemoryItem, MemoryTarget, MemoryTier } from "../../agent-server/contract/memory.ts";

/** Where an item is, in words: a core block or a tier. */
export function placeText({ tier, block }: Pick<MemoryItem, "tier" | "block">): string {
  switch (block) {
    case "persona":
      return vscode.l10n.t("Persona");
    case "human":
      return vscode.l10n.t("About you");
    case "operating_rules":
      return vscode.l10n.t("Rules of work");
    case "mission":
      return vscode.l10n.t("Mission");
    case "workspace_state":
      return vscode.l10n.t("This workspace");
    case null:
      return tierText(tier);
  }
}

function tierText(tier: MemoryItem["tier"]): string {
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

/** Where an edit goes, in words. */
export function targetText(target: MemoryTarget): string {
  const [tier, block] = target.split(":") as [MemoryTier, CoreBlockName?];
  return placeText({ tier, block: block ?? null });
}
