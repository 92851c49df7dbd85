import type { JSX } from "preact";
import { t } from "../shared/l10n.ts";
import { CommandPanel } from "./command.tsx";
import { GovernancePanel } from "./governance/panel.tsx";
import { LearningPanel } from "./learning/panel.tsx";
import { MemoryPanel, waitingCount } from "./memory/panel.tsx";
import { ReceiptsPanel } from "./receipts/panel.tsx";
import { SoulPanel } from "./soul/panel.tsx";
import type { WarRoom } from "./state.ts";
import { ToolsPanel } from "./tools/panel.tsx";
import { TrustPanel } from "./trust/panel.tsx";
import { UsagePanel } from "./usage/panel.tsx";

/** A tab of the War Room. A subsystem joins with one entry here. */
export interface PanelEntry {
  readonly id: string;
  readonly icon: string;
  readonly title: () => string;
  readonly render: (room: WarRoom) => JSX.Element;
  /** What waits for the owner in it, in number. */
  readonly waiting?: (room: WarRoom) => number;
}

export const panels: readonly PanelEntry[] = [
  { id: "command", icon: "dashboard", title: () => t("Command"), render: (room) => <CommandPanel room={room} /> },
  { id: "governance", icon: "law", title: () => t("Governance"), render: (room) => <GovernancePanel room={room} /> },
  { id: "trust", icon: "graph", title: () => t("Trust"), render: (room) => <TrustPanel room={room} /> },
  { id: "learning", icon: "mortar-board", title: () => t("Learning"), render: (room) => <LearningPanel room={room} /> },
  { id: "receipts", icon: "verified", title: () => t("Receipts"), render: (room) => <ReceiptsPanel room={room} /> },
  {
    id: "memory",
    icon: "archive",
    title: () => t("Memory"),
    render: (room) => <MemoryPanel room={room} />,
    waiting: waitingCount,
  },
  { id: "soul", icon: "heart", title: () => t("Soul"), render: (room) => <SoulPanel room={room} /> },
  { id: "tools", icon: "tools", title: () => t("Tools"), render: (room) => <ToolsPanel room={room} /> },
  { id: "usage", icon: "credit-card", title: () => t("Usage"), render: (room) => <UsagePanel room={room} /> },
];

/** The panel with this id, or the first. */
export function panelOf(id: string, all: readonly PanelEntry[] = panels): PanelEntry | undefined {
  return all.find((panel) => panel.id === id) ?? all[0];
}
