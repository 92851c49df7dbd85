import type { JSX } from "preact";
import { commandAction } from "../shared/commands.ts";
import { t } from "../shared/l10n.ts";
import type { WarRoom } from "./state.ts";

/** Shows safe mode and asks for the other state; the editor's own dialog decides. */
export function SafeModeSwitch({ room, on }: { room: WarRoom; on: boolean }): JSX.Element {
  return (
    <div class="switch-row">
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={on}
        aria-labelledby="safe-mode-name"
        aria-describedby="safe-mode-text"
        onClick={() => room.bridge.ui(commandAction("toggleSafeMode", { enabled: String(!on) }))}
      >
        <span class="switch-knob" />
      </button>
      <span id="safe-mode-name">
        {t("Safe mode")}: <strong>{on ? t("on") : t("off")}</strong>
      </span>
      <span class="quiet" id="safe-mode-text">
        {on
          ? t("Only what works on this machine is used: no network, no connectors, no deployment, no push.")
          : t("Switch it on to leave only what works on this machine.")}
      </span>
    </div>
  );
}
