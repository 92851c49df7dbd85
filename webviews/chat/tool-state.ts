import type { ToolCallStatus } from "../../agent-server/contract/chat.ts";
import type { StateProps } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";

/** How a card shows the status of a call. */
export function stateOf(status: ToolCallStatus): StateProps {
  switch (status) {
    case "queued":
      return { icon: "clock", text: t("Queued"), kind: "quiet" };
    case "waiting":
      return { icon: "bell", text: t("Waiting for you"), kind: "attention" };
    case "running":
      return { icon: "loading", text: t("Running"), kind: "" };
    case "success":
      return { icon: "check", text: t("Done"), kind: "good" };
    case "failure":
      return { icon: "error", text: t("Failed"), kind: "bad" };
    case "denied":
      return { icon: "circle-slash", text: t("Denied"), kind: "bad" };
    case "cancelled":
      return { icon: "debug-stop", text: t("Stopped"), kind: "quiet" };
  }
}
