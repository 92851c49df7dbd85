import type { JSX } from "preact";
import { t } from "../shared/l10n.ts";
import { ArtifactsPanel } from "./artifacts/artifacts-panel.tsx";
import { CommandPanel } from "./command-panel.tsx";
import { GovernancePanel } from "./governance/governance-panel.tsx";
import { LearningPanel } from "./learning/learning-panel.tsx";
import { MemoryPanel, pendingQuarantineCount } from "./memory/memory-panel.tsx";
import { ReceiptsPanel } from "./receipts/receipts-panel.tsx";
import { SoulPanel } from "./soul/soul-panel.tsx";
import type { WarRoom } from "./war-room-state.ts";
import { ToolsPanel } from "./tools/tools-panel.tsx";
import { TrustPanel } from "./trust/trust-panel.tsx";
import { UsagePanel } from "./usage/usage-panel.tsx";

/** A tab of the War Room. A subsystem adds one entry to `panels`. */
export interface PanelEntry {
  readonly id: string;
  readonly icon: string;
  readonly title: () => string;
  readonly render: (warRoom: WarRoom) => JSX.Element;
  /** Number of items that need the user's attention. */
  readonly pendingCount?: (warRoom: WarRoom) => number;
}

export const panels: readonly PanelEntry[] = [
  { id: "command", icon: "dashboard", title: () => t("Command"), render: (warRoom) => <CommandPanel warRoom={warRoom} /> },
  { id: "governance", icon: "law", title: () => t("Governance"), render: (warRoom) => <GovernancePanel warRoom={warRoom} /> },
  { id: "trust", icon: "graph", title: () => t("Trust"), render: (warRoom) => <TrustPanel warRoom={warRoom} /> },
  { id: "learning", icon: "mortar-board", title: () => t("Learning"), render: (warRoom) => <LearningPanel warRoom={warRoom} /> },
  { id: "receipts", icon: "verified", title: () => t("Receipts"), render: (warRoom) => <ReceiptsPanel warRoom={warRoom} /> },
  { id: "artifacts", icon: "library", title: () => t("Artifacts"), render: (warRoom) => <ArtifactsPanel warRoom={warRoom} /> },
  {
    id: "memory",
    icon: "archive",
    title: () => t("Memory"),
    render: (warRoom) => <MemoryPanel warRoom={warRoom} />,
    pendingCount: pendingQuarantineCount,
  },
  { id: "soul", icon: "heart", title: () => t("Soul"), render: (warRoom) => <SoulPanel warRoom={warRoom} /> },
  { id: "tools", icon: "tools", title: () => t("Tools"), render: (warRoom) => <ToolsPanel warRoom={warRoom} /> },
  { id: "usage", icon: "credit-card", title: () => t("Usage"), render: (warRoom) => <UsagePanel warRoom={warRoom} /> },
];

/** Returns the panel with this id, or the first. */
export function panelOf(id: string, all: readonly PanelEntry[] = panels): PanelEntry | undefined {
  return all.find((panel) => panel.id === id) ?? all[0];
}
