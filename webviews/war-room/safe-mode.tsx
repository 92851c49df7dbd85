import type { JSX } from "preact";
import { commandAction } from "../shared/commands.ts";
import { t } from "../shared/l10n.ts";
import type { WarRoom } from "./war-room-state.ts";

/** Shows safe mode and requests the opposite state; a dialog of the editor confirms it. */
export function SafeModeSwitch({ warRoom, on }: { warRoom: WarRoom; on: boolean }): JSX.Element {
  return (
    <div class="switch-row">
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={on}
        aria-labelledby="safe-mode-name"
        aria-describedby="safe-mode-text"
        onClick={() => warRoom.bridge.ui(commandAction("toggleSafeMode", { enabled: String(!on) }))}
      >
        <span class="switch-knob" />
      </button>
      <span id="safe-mode-name">
        {t("Safe mode")}: <strong>{on ? t("on") : t("off")}</strong>
      </span>
      <span class="quiet" id="safe-mode-text">
        {on
          ? t("Network, connectors, deployment and push are off. Only local tools run.")
          : t("Turn on safe mode to limit Lancelot to local tools.")}
      </span>
    </div>
  );
}
