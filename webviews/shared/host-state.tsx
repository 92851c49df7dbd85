import type { JSX } from "preact";
import type { Bridge } from "./bridge.ts";
import { commandAction } from "./commands.ts";
import { Button, Icon } from "./components.tsx";
import { t } from "./l10n.ts";

/** Says that the agent host is not there, and what can be done. Nothing while it is ready. */
export function HostBanner({ bridge }: { bridge: Bridge }): JSX.Element | null {
  const { state, detail } = bridge.host.value;
  if (state === "ready") return null;
  const coming = state === "starting" || state === "restarting";
  const text = state === "restarting" ? t("The agent host is starting again…") : t("The agent host is starting…");
  return (
    <div class={`host-banner ${coming ? "" : "down"}`} role={coming ? "status" : "alert"}>
      <Icon name={coming ? "loading" : "debug-disconnect"} spin={coming} />
      <div class="host-banner-text">
        <strong>{coming ? text : t("The agent host is not running.")}</strong>
        {detail !== "" && <span>{detail}</span>}
        {!coming && <span>{t("Your tasks and receipts are safe. Restart it to go on.")}</span>}
      </div>
      {(state === "restarting" || !coming) && (
        <div class="actions">
          {!coming && (
            <Button kind="primary" icon="debug-restart" onClick={() => bridge.ui(commandAction("restartHost"))}>
              {t("Restart")}
            </Button>
          )}
          <Button icon="output" onClick={() => bridge.ui(commandAction("showLog"))}>
            {t("Show log")}
          </Button>
        </div>
      )}
    </div>
  );
}
