import type { JSX } from "preact";
import type { Bridge } from "./bridge.ts";
import { commandAction } from "./commands.ts";
import { Button, Icon } from "./components.tsx";
import { t } from "./l10n.ts";

/** Reports a host that is not running and offers the next step; shows nothing while the host is ready. */
export function HostBanner({ bridge }: { bridge: Bridge }): JSX.Element | null {
  const { state, detail } = bridge.host.value;
  if (state === "ready") return null;
  const isStarting = state === "starting" || state === "restarting";
  const text = state === "restarting" ? t("The agent host is restarting…") : t("The agent host is starting…");
  return (
    <div class={`host-banner ${isStarting ? "" : "down"}`} role={isStarting ? "status" : "alert"}>
      <Icon name={isStarting ? "loading" : "debug-disconnect"} spin={isStarting} />
      <div class="host-banner-text">
        <strong>{isStarting ? text : t("The agent host is not running.")}</strong>
        {detail !== "" && <span>{detail}</span>}
        {!isStarting && <span>{t("Your tasks and receipts are safe. Restart the agent host to continue.")}</span>}
      </div>
      {(state === "restarting" || !isStarting) && (
        <div class="actions">
          {!isStarting && (
            <Button testId="restart-host" kind="primary" icon="debug-restart" onClick={() => bridge.ui(commandAction("restartHost"))}>
              {t("Restart")}
            </Button>
          )}
          <Button testId="show-log" icon="output" onClick={() => bridge.ui(commandAction("showLog"))}>
            {t("Show Log")}
          </Button>
        </div>
      )}
    </div>
  );
}
