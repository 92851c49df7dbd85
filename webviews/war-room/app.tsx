import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../shared/components.tsx";
import { HostBanner } from "../shared/host-state.tsx";
import { count, formatNumber, t } from "../shared/l10n.ts";
import { panelOf, type PanelEntry, panels } from "./panels.tsx";
import type { WarRoom } from "./state.ts";

/** The tab that a key leads to, as the tabs pattern of WAI-ARIA has it. */
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

/** What waits for the owner behind a tab. */
function Waiting({ room, panel }: { room: WarRoom; panel: PanelEntry }): JSX.Element | null {
  const waiting = panel.waiting?.(room) ?? 0;
  if (waiting === 0) return null;
  return (
    <span class="count" title={count(waiting, "{0} waits for you", "{0} wait for you")}>
      {formatNumber(waiting)}
    </span>
  );
}

/** The War Room: one tab a subsystem. */
export function App({ room }: { room: WarRoom }): JSX.Element {
  const bar = useRef<HTMLDivElement>(null);
  const current = panelOf(room.tab.value);
  // In a narrow room the tabs scroll, and a link may lead to one that is out of sight.
  useEffect(() => {
    bar.current?.querySelector(`[aria-selected="true"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current?.id, current?.waiting?.(room)]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = panels.findIndex((panel) => panel.id === current?.id);
    const next = tabForKey(event.key, index, panels.length);
    const panel = next === undefined ? undefined : panels[next];
    if (panel === undefined) return;
    event.preventDefault();
    room.tab.value = panel.id;
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
              room.tab.value = panel.id;
            }}
          >
            <Icon name={panel.icon} />
            <span>{panel.title()}</span>
            <Waiting room={room} panel={panel} />
          </button>
        ))}
      </div>
      <HostBanner bridge={room.bridge} />
      {current !== undefined && (
        <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${current.id}`}>
          {current.render(room)}
        </div>
      )}
    </main>
  );
}
