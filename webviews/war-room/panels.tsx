import type { JSX } from "preact";
import { t } from "../shared/l10n.ts";
import { CommandPanel } from "./command.tsx";
import { ReceiptsPanel } from "./receipts/panel.tsx";
import type { WarRoom } from "./state.ts";

/** A tab of the War Room. A subsystem joins with one entry here. */
export interface PanelEntry {
  readonly id: string;
  readonly icon: string;
  readonly title: () => string;
  readonly render: (room: WarRoom) => JSX.Element;
}

export const panels: readonly PanelEntry[] = [
  { id: "command", icon: "dashboard", title: () => t("Command"), render: (room) => <CommandPanel room={room} /> },
  { id: "receipts", icon: "verified", title: () => t("Receipts"), render: (room) => <ReceiptsPanel room={room} /> },
];

/** The panel with this id, or the first. */
export function panelOf(id: string, all: readonly PanelEntry[] = panels): PanelEntry | undefined {
  return all.find((panel) => panel.id === id) ?? all[0];
}
