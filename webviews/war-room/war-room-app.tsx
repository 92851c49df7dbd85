import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../shared/components.tsx";
import { HostBanner } from "../shared/host-banner.tsx";
import { count, formatNumber, t } from "../shared/l10n.ts";
import { panelOf, type PanelEntry, panels } from "./panels.tsx";
import type { WarRoom } from "./war-room-state.ts";

/** Returns the tab that a key selects, as the WAI-ARIA tabs pattern defines it. */
export function tabForKey(key: string, index: number, total: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return (index + 1) % total;
    case "ArrowLeft":
      return (index - 1 + total) % total;
    case "Home":
      return 0;
    case "End":
      return total - 1;
    default:
      return undefined;
  }
}

/** The number of pending items of a tab. */
function PendingCount({ warRoom, panel }: { warRoom: WarRoom; panel: PanelEntry }): JSX.Element | null {
  const pending = panel.pendingCount?.(warRoom) ?? 0;
  if (pending === 0) return null;
  return (
    <span class="count" title={count(pending, "{0} pending item", "{0} pending items")}>
      {formatNumber(pending)}
    </span>
  );
}

/** The War Room, with one tab per subsystem. */
export function App({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const bar = useRef<HTMLDivElement>(null);
  const current = panelOf(warRoom.tab.value);
  // In a narrow window the tabs scroll, and a link may select an invisible one.
  useEffect(() => {
    bar.current?.querySelector(`[aria-selected="true"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current?.id, current?.pendingCount?.(warRoom)]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = panels.findIndex((panel) => panel.id === current?.id);
    const next = tabForKey(event.key, index, panels.length);
    const panel = next === undefined ? undefined : panels[next];
    if (panel === undefined) return;
    event.preventDefault();
    warRoom.tab.value = panel.id;
    bar.current?.querySelector<HTMLElement>(`#tab-${panel.id}`)?.focus();
  };
  return (
    <main class="war-room">
      <h1 class="sr-only">{t("War Room")}</h1>
      <div class="tabs" role="tablist" aria-label={t("War Room")} ref={bar} onKeyDown={onKeyDown}>
        {panels.map((panel) => (
          <button
            key={panel.id}
            id={`tab-${panel.id}`}
            type="button"
            class="tab"
            role="tab"
            aria-selected={panel.id === current?.id}
            aria-controls={panel.id === current?.id ? "panel" : undefined}
            tabIndex={panel.id === current?.id ? 0 : -1}
            onClick={() => {
              warRoom.tab.value = panel.id;
            }}
          >
            <Icon name={panel.icon} />
            <span>{panel.title()}</span>
            <PendingCount warRoom={warRoom} panel={panel} />
          </button>
        ))}
      </div>
      <HostBanner bridge={warRoom.bridge} />
      {current !== undefined && (
        <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${current.id}`}>
          {current.render(warRoom)}
        </div>
      )}
    </main>
  );
}
