import type { PlanStatus } from "../../agent-server/contract/plans.ts";
import type { StateProps } from "./components.tsx";
import { t } from "./l10n.ts";

/** The status of a plan as icon and text. `isStopped`: its task does not work on it now. */
export function planState(status: PlanStatus, isStopped = false): StateProps {
  if (isStopped) return { icon: "debug-stop", text: t("Stopped"), kind: "quiet" };
  switch (status) {
    case "draft":
      return { icon: "circle-outline", text: t("Waiting for your approval"), kind: "attention" };
    case "approved":
      return { icon: "check", text: t("Approved"), kind: "good" };
    case "running":
      return { icon: "loading", text: t("Running"), kind: "attention" };
    case "done":
      return { icon: "check", text: t("Done"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Failed"), kind: "bad" };
    case "rejected":
      return { icon: "close", text: t("Rejected"), kind: "quiet" };
  }
}
